import { createHash, timingSafeEqual } from 'node:crypto';
import { tokensOf } from '@gwk/core/config/shared';
import type { Database } from '../database.js';
import type { EngineCaller } from './deps.js';
import { RefusalError } from './refusal.js';

/**
 * Who calls the internal port. An engine's token opens the engine routes of its own instance, the operator's token
 * opens the operator's routes; neither opens the other's.
 *
 * Tokens of engines are remembered for a short while: a revocation holds at once in the process that made it
 * (`forget`), elsewhere when the memory ends. Until then the epoch rule keeps a revoked engine from any write.
 */
const REMEMBER_MS = 1_500;
const MAX_REMEMBERED = 50_000;

export const hashOfToken = (token: string): Buffer => createHash('sha256').update(token).digest();

export class Authentication {
  readonly #database: Database;
  readonly #operatorHashes: readonly Buffer[];
  readonly #known = new Map<string, { caller: EngineCaller; until: number }>();

  constructor(database: Database, operatorToken: string) {
    this.#database = database;
    this.#operatorHashes = tokensOf(operatorToken).map(hashOfToken);
  }

  /** @throws RefusalError `unauthorized` */
  async engine(authorization: string | undefined): Promise<EngineCaller> {
    const hash = hashOfToken(bearerOf(authorization));
    const name = hash.toString('base64');
    const known = this.#known.get(name);
    if (known && known.until > performance.now()) return known.caller;
    this.#known.delete(name);
    const token = await this.#database.engineToken.findFirst({
      where: { hash: new Uint8Array(hash), revokedAt: null },
      select: { id: true, instanceId: true, pod: true },
    });
    if (!token) throw new RefusalError('unauthorized');
    const caller = { tokenId: token.id, instanceId: token.instanceId, pod: token.pod };
    if (this.#known.size >= MAX_REMEMBERED) this.#known.clear();
    this.#known.set(name, { caller, until: performance.now() + REMEMBER_MS });
    return caller;
  }

  /** @throws RefusalError `unauthorized` */
  operator(authorization: string | undefined): void {
    // Digests have one length, so the comparison tells nothing of the token's. Each is compared: which of them it was
    // is nobody's business either.
    const given = hashOfToken(bearerOf(authorization));
    const fitting = this.#operatorHashes.filter((hash) => timingSafeEqual(given, hash));
    if (fitting.length === 0) throw new RefusalError('unauthorized');
  }

  /** Tokens of an instance were revoked by this process. */
  forget(instanceId: string): void {
    for (const [name, { caller }] of this.#known) {
      if (caller.instanceId === instanceId) this.#known.delete(name);
    }
  }
}

function bearerOf(authorization: string | undefined): string {
  const match = /^Bearer ([\x21-\x7e]{1,500})$/i.exec(authorization ?? '');
  if (!match) throw new RefusalError('unauthorized');
  return match[1]!;
}

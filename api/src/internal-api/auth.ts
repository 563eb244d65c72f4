import { createHash, timingSafeEqual } from 'node:crypto';
import { Batcher } from '../platform/batcher.js';
import { parseTokens } from '@gwk/core/config/shared';
import type { Database } from '../database/database.js';
import type { EngineCaller } from '../fencing/fence.js';
import { RefusalError } from '../fencing/refusal.js';

const REMEMBER_MS = 1_500;
/** From this age on a lookup for another token refreshes the entry too. */
const AGING_MS = REMEMBER_MS / 2;
const MAX_REMEMBERED = 50_000;
const MAX_TAKEN_ALONG = 500;

export const hashOfToken = (token: string): Buffer => createHash('sha256').update(token).digest();

interface Remembered {
  caller: EngineCaller;
  at: number;
  /** Whether it was used since it was read. */
  used: boolean;
}

/**
 * Authenticates callers of the internal API. An engine's token opens the engine routes of its own instance, the operator's
 * token opens the operator's routes.
 *
 * Tokens of engines are cached for 1.5 s. A revocation holds at once in the process that made it (`forget`) and elsewhere when
 * the cache entry expires; until then the epoch keeps a revoked engine from any write.
 *
 * A lookup refreshes all aging entries that were used, in one statement. Otherwise, after a pause of this process, each engine
 * of a fleet would cause a statement of its own ahead of the messages.
 */
export class Authentication {
  readonly #operatorHashes: readonly Buffer[];
  /** Oldest first. */
  readonly #known = new Map<string, Remembered>();
  readonly #lookups: Batcher<string, EngineCaller | null>;
  /** Number of calls of `forget`. */
  #revocations = 0;

  constructor(
    private readonly database: Pick<Database, '$queryRaw'>,
    operatorToken: string,
    private readonly now = (): number => performance.now(),
  ) {
    this.#operatorHashes = parseTokens(operatorToken).map(hashOfToken);
    this.#lookups = new Batcher({ run: (names) => this.#lookUp(names) });
  }

  /** @throws RefusalError `unauthorized` */
  async engine(authorization: string | undefined): Promise<EngineCaller> {
    const name = hashOfToken(bearerOf(authorization)).toString('base64');
    const known = this.#known.get(name);
    if (known && this.now() - known.at < REMEMBER_MS) {
      known.used = true;
      return known.caller;
    }
    const caller = await this.#lookups.submit(name);
    if (!caller) throw new RefusalError('unauthorized');
    return caller;
  }

  async #lookUp(names: readonly string[]): Promise<(EngineCaller | null)[]> {
    const at = this.now();
    const wanted = new Set([...names, ...this.#aging(at)]);
    const hashes = [...wanted].map((name) => Buffer.from(name, 'base64'));
    const revocations = this.#revocations;
    const tokens = await this.database.$queryRaw<
      { id: string; instance_id: string; pod: string; hash: Uint8Array }[]
    >`
      SELECT t.id, t.instance_id, t.pod, t.hash FROM engine_tokens t
      WHERE t.hash = ANY (${hashes}::bytea[]) AND t.revoked_at IS NULL`;
    const found = new Map<string, EngineCaller>();
    for (const { id, instance_id: instanceId, pod, hash } of tokens)
      found.set(Buffer.from(hash).toString('base64'), { tokenId: id, instanceId, pod });
    // The result may precede a revocation.
    if (revocations === this.#revocations)
      for (const name of wanted) this.#remember(name, found.get(name), at);
    return names.map((name) => found.get(name) ?? null);
  }

  /** Returns the aging entries that were used, and drops expired entries that were not. */
  #aging(now: number): string[] {
    const aging: string[] = [];
    for (const [name, { at, used }] of this.#known) {
      if (now - at < AGING_MS || aging.length === MAX_TAKEN_ALONG) break;
      if (used) aging.push(name);
      else if (now - at >= REMEMBER_MS) this.#known.delete(name);
    }
    return aging;
  }

  #remember(name: string, caller: EngineCaller | undefined, at: number): void {
    this.#known.delete(name);
    if (!caller) return;
    if (this.#known.size >= MAX_REMEMBERED) this.#known.clear();
    this.#known.set(name, { caller, at, used: false });
  }

  /** @throws RefusalError `unauthorized` */
  operator(authorization: string | undefined): void {
    // Digests have one length, so the comparison does not leak the token's length. All tokens are compared, so the time
    // does not reveal which one matched.
    const given = hashOfToken(bearerOf(authorization));
    const fitting = this.#operatorHashes.filter((hash) => timingSafeEqual(given, hash));
    if (fitting.length === 0) throw new RefusalError('unauthorized');
  }

  /** Drops the cached tokens of an instance after this process revoked them. */
  forget(instanceId: string): void {
    for (const [name, { caller }] of this.#known) {
      if (caller.instanceId === instanceId) this.#known.delete(name);
    }
    // Running lookups may belong to this instance.
    this.#revocations++;
  }
}

function bearerOf(authorization: string | undefined): string {
  const match = /^Bearer ([\x21-\x7e]{1,500})$/i.exec(authorization ?? '');
  if (!match) throw new RefusalError('unauthorized');
  return match[1]!;
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { PairingMethod } from '@gwk/core/resources/pairing';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { InstanceState } from '@gwk/core/states';
import type { Database } from '../../database/database.js';
import { openCode, openPasskey, type PasskeyStep, type SessionOwner } from './sessions.js';

declare module '../../http/services.js' {
  interface Services {
    pairings: PairingWatch;
  }
}

/** An instance and its pairing session. */
export interface PairingState {
  accountId: string;
  instanceId: string;
  state: InstanceState;
  stateChangedAt: Date;
  jid: string | null;
  suspended: boolean;
  session: SessionState | null;
}

export interface SessionState {
  id: string;
  method: PairingMethod;
  open: boolean;
  /** Number of codes so far; a change means a new code. */
  count: number;
  /** Null: none yet, or expired. */
  code: { text: string; expiresAt: Date } | null;
  /** Null: none asked for, or expired. */
  passkey: (PasskeyStep & { expiresAt: Date }) | null;
  /** Number of its steps so far. */
  passkeyCount: number;
  owner: SessionOwner | null;
  error: string | null;
}

/** Reads the pairing states of existing instances, by id. */
export async function readPairings(
  db: Database,
  sealer: Sealer,
  ids: readonly string[],
): Promise<Map<string, PairingState>> {
  const rows = await db.instance.findMany({
    where: { id: { in: [...ids] }, deletedAt: null },
    select: {
      id: true,
      accountId: true,
      state: true,
      stateChangedAt: true,
      jid: true,
      suspended: true,
      pairing: true,
    },
  });
  const now = new Date();
  return new Map(
    rows.map(({ id, pairing, state, ...row }) => {
      const session = pairing && {
        id: pairing.id,
        method: pairing.method as PairingMethod,
        open: pairing.state === 'pairing',
        count: pairing.qrCount,
        code:
          pairing.codeSealed && pairing.expiresAt && pairing.expiresAt > now
            ? { text: openCode(sealer, id, pairing.codeSealed), expiresAt: pairing.expiresAt }
            : null,
        passkey:
          pairing.passkeySealed && pairing.passkeyExpiresAt && pairing.passkeyExpiresAt > now
            ? { ...openPasskey(sealer, id, pairing.passkeySealed), expiresAt: pairing.passkeyExpiresAt }
            : null,
        passkeyCount: pairing.passkeyCount,
        owner: pairing.owner === null ? null : { name: pairing.owner, address: pairing.ownerAddress ?? '' },
        error: pairing.error,
      };
      return [id, { ...row, instanceId: id, state: state as InstanceState, session }];
    }),
  );
}

/** The reader of a pairing stream. */
export interface Viewer {
  /** Key or person (accounts/caller.ts). */
  actor: string;
  readsCodes: boolean;
}

/** A stream, or a request that waits for a code. */
interface Watcher {
  viewer: Viewer | null;
}

const POLL_MS = 250;

/** Null if Postgres is unavailable: the next poll reads the state, and watchers have their own deadlines. */
type Poll = ReadonlyMap<string, PairingState> | null;

/**
 * Polls the rows for all watchers of pairings with one statement, and not at all without watchers. So any replica sees the
 * updates that engines report to another one, without Redis.
 */
export class PairingWatch {
  readonly #db: Database;
  readonly #sealer: Sealer;
  /** Watchers by instance. */
  readonly #watchers = new Map<string, Set<Watcher>>();
  #lastPoll = -Infinity;
  #nextPoll: Promise<Poll> | null = null;

  constructor(db: Database, sealer: Sealer) {
    this.#db = db;
    this.#sealer = sealer;
  }

  async read(instanceId: string): Promise<PairingState | null> {
    const found = await readPairings(this.#db, this.#sealer, [instanceId]);
    return found.get(instanceId) ?? null;
  }

  /** Viewers of the open streams of an instance. */
  listViewers(instanceId: string): Viewer[] {
    return [...(this.#watchers.get(instanceId) ?? [])].flatMap(({ viewer }) => viewer ?? []);
  }

  /** Yields the state at each poll until the signal; null: the instance was deleted. */
  async *watch(
    instanceId: string,
    signal: AbortSignal,
    viewer: Viewer | null = null,
  ): AsyncGenerator<PairingState | null> {
    let settle: (found: Poll) => void = () => undefined;
    signal.addEventListener('abort', () => settle(null));
    const watchers = this.#watchers.get(instanceId) ?? new Set<Watcher>();
    const watcher = { viewer };
    this.#watchers.set(instanceId, watchers.add(watcher));
    try {
      while (!signal.aborted) {
        const next = Promise.withResolvers<Poll>();
        settle = next.resolve;
        void (this.#nextPoll ??= this.#poll()).then(settle);
        const found = await next.promise;
        if (found && !signal.aborted) yield found.get(instanceId) ?? null;
      }
    } finally {
      watchers.delete(watcher);
      if (watchers.size === 0) this.#watchers.delete(instanceId);
    }
  }

  async #poll(): Promise<Poll> {
    await sleep(Math.max(0, this.#lastPoll + POLL_MS - performance.now()));
    this.#lastPoll = performance.now();
    this.#nextPoll = null;
    const ids = [...this.#watchers.keys()];
    return ids.length === 0 ? null : readPairings(this.#db, this.#sealer, ids).catch(() => null);
  }
}

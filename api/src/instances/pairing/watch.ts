import { setTimeout as sleep } from 'node:timers/promises';
import type { PairingMethod } from '@gwk/core/resources/pairing';
import type { Sealer } from '@gwk/core/encryption';
import type { InstanceState } from '@gwk/core/states';
import type { Database } from '../../database/database.js';
import { openCode } from './sessions.js';

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
        error: pairing.error,
      };
      return [id, { ...row, instanceId: id, state: state as InstanceState, session }];
    }),
  );
}

const LOOK_MS = 250;

/** Null: the instance was deleted. */
type Watcher = (now: PairingState | null) => void;

/**
 * Polls the rows for all watchers of pairings with one statement, and not at all without watchers. So any replica sees the
 * updates that engines report to another one, without Redis.
 */
export class PairingWatch {
  readonly #db: Database;
  readonly #sealer: Sealer;
  readonly #watchers = new Map<string, Set<Watcher>>();
  #looking = false;

  constructor(db: Database, sealer: Sealer) {
    this.#db = db;
    this.#sealer = sealer;
  }

  read(instanceId: string): Promise<PairingState | null> {
    return readPairings(this.#db, this.#sealer, [instanceId]).then((found) => found.get(instanceId) ?? null);
  }

  /** Number of watchers of an instance. */
  watching(instanceId: string): number {
    return this.#watchers.get(instanceId)?.size ?? 0;
  }

  /** Calls the watcher at every poll until the signal. */
  watch(instanceId: string, watcher: Watcher, signal: AbortSignal): void {
    if (signal.aborted) return;
    const watchers = this.#watchers.get(instanceId) ?? new Set();
    watchers.add(watcher);
    this.#watchers.set(instanceId, watchers);
    signal.addEventListener('abort', () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(instanceId) === watchers)
        this.#watchers.delete(instanceId);
    });
    if (!this.#looking) void this.#look();
  }

  async #look(): Promise<void> {
    this.#looking = true;
    while (this.#watchers.size > 0) {
      // If Postgres is unavailable, the next poll reads the state; watchers have their own deadlines.
      await this.#tell().catch(() => undefined);
      await sleep(LOOK_MS);
    }
    this.#looking = false;
  }

  async #tell(): Promise<void> {
    const ids = [...this.#watchers.keys()];
    const found = await readPairings(this.#db, this.#sealer, ids);
    for (const id of ids) {
      for (const watcher of this.#watchers.get(id) ?? []) watcher(found.get(id) ?? null);
    }
  }
}

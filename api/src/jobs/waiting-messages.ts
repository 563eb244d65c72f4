import type { FailureCode, InstanceState } from '@gwk/core/states';
import { failMessages } from '../messages/apply-status.js';
import type { JobDependencies } from './dependencies.js';

/** An instance that has messages waiting, as decisions see it. */
export interface WaitingInstance {
  instanceId: string;
  state: InstanceState;
  deleted: boolean;
  /** Time spent out of `connected` so far. */
  offlineMs: number;
  /** For how long its account has been suspended. */
  suspendedMs: number | null;
}

interface Row {
  instance_id: string;
  state: InstanceState;
  deleted: boolean;
  offline_ms: bigint;
  suspended_ms: bigint | null;
}

type Deps = Pick<JobDependencies, 'db' | 'sealer'>;

export async function waitingInstances({ db }: Pick<Deps, 'db'>): Promise<WaitingInstance[]> {
  const rows = await db.$queryRaw<Row[]>`SELECT * FROM gwk_waiting_instances()`;
  return rows.map((row) => ({
    instanceId: row.instance_id,
    state: row.state,
    deleted: row.deleted,
    offlineMs: Number(row.offline_ms),
    suspendedMs: row.suspended_ms === null ? null : Number(row.suspended_ms),
  }));
}

/** Which of an instance's waiting messages are meant: both limits null would mean none. */
export interface Which {
  /** Those that began to wait when the out clock showed this or less. */
  startedAtMost: number | null;
  /** Of those, the ones that have waited for so long on any clock. */
  waitedMs: number;
  /** Those accepted so long ago or longer. */
  acceptedMsAgo: number | null;
}

export const ALL: Which = { startedAtMost: Number.MAX_SAFE_INTEGER, waitedMs: 0, acceptedMsAgo: null };
/** So many at once: a group is one transaction. */
const GROUP = 200;

/**
 * Fails a group of messages that wait and were never attempted: what may have left is not failed here.
 * @returns how many it failed, at most GROUP
 */
export async function failWaiting(
  deps: Deps,
  instanceId: string,
  which: Which,
  code: FailureCode,
): Promise<number> {
  const rows = await deps.db.$queryRaw<{ message_id: string }[]>`
    SELECT * FROM gwk_waiting_messages(${instanceId}::uuid, ${which.startedAtMost}::bigint,
      now() - ${which.waitedMs}::double precision * interval '1 millisecond',
      now() - ${which.acceptedMsAgo}::double precision * interval '1 millisecond', ${GROUP}::integer)`;
  const ids = rows.map(({ message_id }) => message_id);
  return failMessages({ database: deps.db, sealer: deps.sealer }, ids, { code, message: null });
}

export const isWholeGroup = (amount: number): boolean => amount === GROUP;

import type { FailureCode, InstanceState } from '@gwk/core/states';
import { toFields } from '../database/model-columns.js';
import { failMessages } from '../messages/apply-status.js';
import type { JobDependencies } from './dependencies.js';

/** An instance with waiting messages. */
export interface WaitingInstance {
  instanceId: string;
  state: InstanceState;
  deleted: boolean;
  /** Total time in other states than `connected`. */
  offlineMs: number;
  /** Time since its account was suspended. */
  suspendedMs: number | null;
}

type Deps = Pick<JobDependencies, 'db' | 'sealer'>;

export async function waitingInstances({ db }: Pick<Deps, 'db'>): Promise<WaitingInstance[]> {
  type Row = Omit<WaitingInstance, 'offlineMs' | 'suspendedMs'> & {
    offlineMs: bigint;
    suspendedMs: bigint | null;
  };
  const rows = toFields<Row>(await db.$queryRaw`SELECT * FROM gwk_waiting_instances()`);
  return rows.map(({ offlineMs, suspendedMs, ...row }) => ({
    ...row,
    offlineMs: Number(offlineMs),
    suspendedMs: suspendedMs === null ? null : Number(suspendedMs),
  }));
}

/** Selects waiting messages of an instance; with both limits null it selects none. */
export interface Which {
  /** Messages that began to wait when the total offline time was at most this. */
  startedAtMost: number | null;
  /** Minimum wait of those messages, in real time. */
  waitedMs: number;
  /** Messages accepted at least this long ago. */
  acceptedMsAgo: number | null;
}

export const ALL: Which = { startedAtMost: Number.MAX_SAFE_INTEGER, waitedMs: 0, acceptedMsAgo: null };
/** Messages per transaction. */
const GROUP = 200;

/**
 * Fails a batch of waiting messages that no engine has attempted; attempted ones may have left.
 * @returns the number of failed messages, at most GROUP
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

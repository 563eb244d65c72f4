import { decideWaiting, type FailureCode, type InstanceState } from '@gwk/core/states';
import { finishOptOut, type OptOutScope } from '../contacts/contacts.js';
import { toFields } from '../database/model-columns.js';
import { failMessages } from '../message-status/apply-status.js';
import type { SendNotification } from '../messages/send-notifier.js';
import { NOTHING, passBatches, type Job } from '../platform/job.js';
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
  /** Messages accepted before are of a former account. */
  otherAccountAt: Date | null;
}

type Deps = Pick<JobDependencies, 'db' | 'sealer'>;

const waitingInstances = async ({ db }: Pick<Deps, 'db'>): Promise<WaitingInstance[]> =>
  toFields<WaitingInstance>(await db.$queryRaw`SELECT * FROM gwk_waiting_instances()`);

/** Selects waiting messages of an instance; with both limits null it selects none. */
interface Which {
  /** Messages that began to wait when the total offline time was at most this. */
  startedAtMost: number | null;
  /** Minimum wait of those messages, in real time. */
  waitedMs: number;
  /** Messages accepted at least this long ago, or until a time. */
  acceptedMsAgo?: number | null;
  acceptedUntil?: Date;
}

const ALL: Which = { startedAtMost: Number.MAX_SAFE_INTEGER, waitedMs: 0 };
const acceptedBefore = (time: Date): Which => ({
  startedAtMost: null,
  waitedMs: 0,
  acceptedUntil: new Date(time.getTime() - 1),
});
/** Messages per transaction. */
const GROUP = 200;

/**
 * Fails a batch of waiting messages that no engine has attempted; attempted ones may have left.
 * @returns the number of failed messages, at most GROUP
 */
async function failWaiting(deps: Deps, instanceId: string, which: Which, code: FailureCode): Promise<number> {
  const rows = await deps.db.$queryRaw<{ message_id: string }[]>`
    SELECT * FROM gwk_waiting_messages(${instanceId}::uuid, ${which.startedAtMost}::bigint,
      now() - ${which.waitedMs}::double precision * interval '1 millisecond',
      coalesce(${which.acceptedUntil ?? null}::timestamptz,
        now() - ${which.acceptedMsAgo ?? null}::double precision * interval '1 millisecond'), ${GROUP}::integer)`;
  const ids = rows.map(({ message_id }) => message_id);
  return failMessages({ database: deps.db, sealer: deps.sealer }, ids, { code, message: null });
}

/** Failure code for the queued messages of an instance that cannot send (never paired, logged out, banned, deleted); null: they wait. */
export function decideRefusal({
  state,
  deleted,
}: Pick<WaitingInstance, 'state' | 'deleted'>): FailureCode | null {
  if (deleted) return 'canceled';
  const verdict = decideWaiting(state);
  return verdict === 'wait' ? null : verdict;
}

export function refuseMessagesJob(deps: JobDependencies): Job {
  return {
    name: 'refuse',
    everyMs: 500,
    pass: async () =>
      passBatches(await waitingInstances(deps), GROUP, async (instance) => {
        const { instanceId, otherAccountAt } = instance;
        const code = decideRefusal(instance);
        if (code !== null) return failWaiting(deps, instanceId, ALL, code);
        if (otherAccountAt === null) return 0;
        return failWaiting(deps, instanceId, acceptedBefore(otherAccountAt), 'not_paired');
      }),
  };
}

/**
 * Selects the messages of an instance that have waited too long (docs/interface.md). Only time counts in which the instance
 * was offline or the account suspended. Null: none can have expired.
 */
export function selectExpired(instance: WaitingInstance, afterMs: number): Which | null {
  const { offlineMs, suspendedMs } = instance;
  const startedAtMost = offlineMs >= afterMs ? offlineMs - afterMs : null;
  const acceptedMsAgo = suspendedMs !== null && suspendedMs >= afterMs ? afterMs : null;
  return startedAtMost === null && acceptedMsAgo === null
    ? null
    : { startedAtMost, waitedMs: afterMs, acceptedMsAgo };
}

export function expireMessagesJob(deps: JobDependencies, expireAfterMs: number): Job {
  return {
    name: 'expire',
    everyMs: 1_000,
    pass: async () =>
      passBatches(await waitingInstances(deps), GROUP, async (instance) => {
        const which = selectExpired(instance, expireAfterMs);
        return which === null ? 0 : failWaiting(deps, instance.instanceId, which, 'expired');
      }),
  };
}

/**
 * Fails messages with `timeout` whose sending began longer ago than the limit without an acknowledgement. They are never sent
 * again, and the conversation continues. A later acknowledgement or receipt corrects the status.
 */
export function unconfirmedSendsJob(deps: JobDependencies, unconfirmedTimeoutMs: number): Job {
  const { db, sealer } = deps;
  return {
    name: 'unconfirmed-sends',
    everyMs: 1_000,
    async pass() {
      const rows = await db.$queryRaw<{ message_id: string }[]>`
        SELECT message_id FROM outbox
        WHERE head AND attempted_at <= now() - ${unconfirmedTimeoutMs}::double precision * interval '1 millisecond'
        LIMIT ${GROUP}::integer`;
      const ids = rows.map(({ message_id }) => message_id);
      const error = { code: 'timeout', message: null } as const;
      const wasAttempted = (row: { attemptedAt: Date | null }): boolean => row.attemptedAt !== null;
      const amount = await failMessages({ database: db, sealer }, ids, error, wasAttempted);
      return { amount, more: amount === GROUP };
    },
  };
}

const CONTACTS = 20;

/** Fails the rest of the queued messages of opted-out contacts, beyond those that the opt-out's transaction failed. */
export function optOutsJob({ db, sealer }: Deps): Job {
  return {
    name: 'opt-outs',
    everyMs: 500,
    async pass() {
      const scopes = toFields<OptOutScope>(
        await db.$queryRaw`
        SELECT contact_id, sandbox_id FROM opt_outs WHERE unfinished ORDER BY contact_id LIMIT ${CONTACTS}::integer`,
      );
      const result = { ...NOTHING };
      for (const scope of scopes) {
        const { failed, more } = await finishOptOut({ database: db, sealer }, scope);
        result.amount += failed;
        result.more ||= more;
      }
      return result;
    },
  };
}

const WAITED_MS = 5_000;
const PER_INSTANCE = 5;

/** Notifies engines again of messages that wait although their instance is connected: Redis may have lost the notification. */
export function renotifyJob({ db, sendNotifier }: JobDependencies, waitedMs = WAITED_MS): Job {
  return {
    name: 'renotify',
    everyMs: 1_000,
    async pass() {
      const heads = toFields<SendNotification>(
        await db.$queryRaw`
        SELECT * FROM gwk_renotify(${waitedMs}::integer, ${PER_INSTANCE}::integer)`,
      );
      await sendNotifier.notify(heads);
      return { amount: heads.length, more: false };
    },
  };
}

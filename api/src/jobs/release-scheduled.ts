import { decideActiveHours } from '../policy/active-hours.js';
import { resolvePolicy, type ActiveHours, type PolicyOverrides } from '../policy/policy.js';
import { toFields } from '../database/model-columns.js';
import type { SendNotification } from '../messages/send-notifier.js';
import { NOTHING, type Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

export interface DueMessage {
  now: Date;
  hours: ActiveHours | null;
  isGroup: boolean;
  lastWroteAt: Date | null;
}

interface Row extends Omit<DueMessage, 'hours'> {
  messageId: string;
  instancePolicy: PolicyOverrides;
  accountPolicy: PolicyOverrides;
}

/**
 * Returns when a due scheduled message may leave: null for now, or the next opening if its window has closed again. An
 * accepted message is never refused: a policy that would refuse it now postpones it too.
 */
export function releaseAt({ now, hours, isGroup, lastWroteAt }: DueMessage): Date | null {
  const verdict = decideActiveHours({
    hours: hours && { ...hours, outside: 'schedule' },
    now,
    lastWroteAt: isGroup ? now : lastWroteAt,
  });
  return verdict.do === 'schedule' ? verdict.at : null;
}

const GROUP = 500;

export function releaseScheduledJob(deps: JobDependencies, environmentPolicy: PolicyOverrides): Job {
  return {
    name: 'release',
    everyMs: 500,
    async pass() {
      const released = await releaseGroup(deps, environmentPolicy);
      if (released === null) return NOTHING;
      await deps.sendNotifier.notify(released.heads);
      return { amount: released.amount, more: released.amount === GROUP };
    },
  };
}

/** One worker at a time: two workers could change the order within a conversation. */
async function releaseGroup({ db }: JobDependencies, environment: PolicyOverrides) {
  return db.$transaction(async (tx) => {
    const [lock] = await tx.$queryRaw<{ mine: boolean }[]>`
      SELECT pg_try_advisory_xact_lock(hashtext('gwk release scheduled')) AS mine`;
    if (!lock!.mine) return null;
    const rows = toFields<Row>(await tx.$queryRaw`SELECT * FROM gwk_due_scheduled(${GROUP}::integer)`);
    if (rows.length === 0) return null;
    const moves = rows.map(
      (row) => releaseAt({ ...row, hours: activeHours(row, environment) })?.toISOString() ?? null,
    );
    const heads = toFields<SendNotification>(
      await tx.$queryRaw`
      SELECT * FROM gwk_release_scheduled(${rows.map((row) => row.messageId)}::uuid[], ${moves}::timestamptz[])`,
    );
    return { amount: rows.length, heads };
  });
}

function activeHours(
  { accountPolicy: account, instancePolicy: instance }: Row,
  environment: PolicyOverrides,
): ActiveHours | null {
  return resolvePolicy({ environment, account, instance }, { warmingUp: false }).active_hours;
}

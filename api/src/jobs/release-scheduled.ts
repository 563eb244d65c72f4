import { decideActiveHours } from '@gwk/core/policy/active-hours';
import { resolvePolicy, type ActiveHours, type PolicyOverrides } from '@gwk/core/policy/policy';
import { NOTHING, type Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

interface Row {
  message_id: string;
  now: Date;
  instance_policy: PolicyOverrides;
  account_policy: PolicyOverrides;
  is_group: boolean;
  last_wrote_at: Date | null;
}

export interface DueMessage {
  now: Date;
  hours: ActiveHours | null;
  isGroup: boolean;
  lastWroteAt: Date | null;
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
      await deps.sendNotifier.notify(released.rings);
      return { amount: released.amount, more: released.amount === GROUP };
    },
  };
}

interface Released {
  amount: number;
  rings: { instanceId: string; messageId: string }[];
}

/** One worker at a time: two workers could change the order within a conversation. */
async function releaseGroup({ db }: JobDependencies, environment: PolicyOverrides): Promise<Released | null> {
  return db.$transaction(async (tx) => {
    const [lock] = await tx.$queryRaw<{ mine: boolean }[]>`
      SELECT pg_try_advisory_xact_lock(hashtext('gwk release scheduled')) AS mine`;
    if (!lock!.mine) return null;
    const rows = await tx.$queryRaw<Row[]>`SELECT * FROM gwk_due_scheduled(${GROUP}::integer)`;
    if (rows.length === 0) return null;
    const moves = rows.map((row) => releaseAt(dueOf(row, environment))?.toISOString() ?? null);
    const heads = await tx.$queryRaw<{ instance_id: string; message_id: string }[]>`
      SELECT * FROM gwk_release_scheduled(${rows.map((row) => row.message_id)}::uuid[], ${moves}::timestamptz[])`;
    const rings = heads.map((row) => ({ instanceId: row.instance_id, messageId: row.message_id }));
    return { amount: rows.length, rings };
  });
}

function dueOf(row: Row, environment: PolicyOverrides): DueMessage {
  const levels = { environment, account: row.account_policy, instance: row.instance_policy };
  const { active_hours: hours } = resolvePolicy(levels, { warmingUp: false });
  return { now: row.now, hours, isGroup: row.is_group, lastWroteAt: row.last_wrote_at };
}

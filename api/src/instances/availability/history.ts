import type { AvailabilityInput } from '@gwk/core/availability/availability';
import type { Database } from '../../database/database.js';

interface Row {
  state: string;
  reason: string | null;
  since: Date;
  ended_at: Date | null;
}

/**
 * Reads the recorded states of an instance between two times. Reading begins at the last connection before, because an outage
 * is attributed to the state that began it.
 */
export async function readHistory(
  db: Pick<Database, '$queryRaw'>,
  instanceId: string,
  { from, to }: { from: Date; to: Date },
): Promise<Pick<AvailabilityInput, 'intervals' | 'suspensions'>> {
  const states = await db.$queryRaw<Row[]>`
    SELECT state, reason, since, ended_at FROM instance_states
    WHERE instance_id = ${instanceId}::uuid AND since < ${to}
      AND since >= coalesce(
        (SELECT max(since) FROM instance_states
         WHERE instance_id = ${instanceId}::uuid AND state = 'connected' AND since < ${from}), '-infinity')
    ORDER BY since, id`;
  const suspensions = await db.$queryRaw<Pick<Row, 'since' | 'ended_at'>[]>`
    SELECT since, ended_at FROM instance_suspensions
    WHERE instance_id = ${instanceId}::uuid AND since < ${to} AND (ended_at IS NULL OR ended_at > ${from})
    ORDER BY since`;
  return {
    intervals: states.map(({ state, reason, ...row }) => ({ state, reason, ...spanOf(row) })),
    suspensions: suspensions.map(spanOf),
  };
}

function spanOf({ since, ended_at }: Pick<Row, 'since' | 'ended_at'>) {
  return { since: since.getTime(), until: ended_at?.getTime() ?? null };
}

import {
  computeAvailability,
  isMonth,
  monthAt,
  historyRange,
  type AvailabilityInput,
} from './availability.js';
import { toPublicId } from '@gwk/core/ids/ids';
import { isTimeZone } from '../../policy/policy.js';
import { Problem } from '@gwk/core/problems/problems';
import { AvailabilityOut, AvailabilityQuery } from '../../resources/availability.js';
import type { Database } from '../../database/database.js';
import { operation } from '../../http/operation.js';
import { findInstance } from '../../accounts/find-instance.js';

const isoOf = (moment: number): string => new Date(moment).toISOString();

export const availabilityOperations = [
  operation({
    name: 'getAvailability',
    method: 'GET',
    path: '/v1/instances/{instance_id}/availability',
    summary: 'Availability of an instance in a month',
    scope: 'instances:read',
    status: 200,
    query: AvailabilityQuery,
    result: AvailabilityOut,
    problems: ['invalid-month', 'invalid-timezone'],
    async handle({ caller, params, query, services }) {
      const { timezone } = query;
      if (!isTimeZone(timezone)) throw new Problem('invalid-timezone');
      const now = Date.now();
      const month = query.month ?? monthAt(now, timezone);
      if (!isMonth(month)) throw new Problem('invalid-month');
      const { id, firstConnectedAt } = await findInstance(services.db, caller, params['instance_id']!);
      const { period_start, period_end, incidents, ...answer } = computeAvailability({
        ...(await readHistory(services.db, id, historyRange(month))),
        firstConnectedAt: firstConnectedAt?.getTime() ?? null,
        month,
        timezone,
        now,
      });
      return {
        status: 200,
        body: {
          instance_id: toPublicId('instance', id),
          month,
          timezone,
          period_start: isoOf(period_start),
          period_end: isoOf(period_end),
          ...answer,
          incidents: incidents.map(({ start, end, ...incident }) => ({
            start: isoOf(start),
            end: end === null ? null : isoOf(end),
            ...incident,
          })),
        },
      };
    },
  }),
];

/**
 * Reads the recorded states of an instance between two times. Reading begins at the last connection before, because an outage
 * is attributed to the state that began it.
 */
async function readHistory(
  db: Database,
  instanceId: string,
  { from, to }: { from: Date; to: Date },
): Promise<Pick<AvailabilityInput, 'intervals' | 'suspensions'>> {
  const connected = await db.instanceState.findFirst({
    where: { instanceId, state: 'connected', since: { lt: from } },
    orderBy: { since: 'desc' },
  });
  const states = await db.instanceState.findMany({
    where: { instanceId, since: { lt: to, ...(connected && { gte: connected.since }) } },
    orderBy: [{ since: 'asc' }, { id: 'asc' }],
  });
  const suspensions = await db.instanceSuspension.findMany({
    where: { instanceId, since: { lt: to }, OR: [{ endedAt: null }, { endedAt: { gt: from } }] },
    orderBy: { since: 'asc' },
  });
  return {
    intervals: states.map(({ state, reason, ...row }) => ({ state, reason, ...spanOf(row) })),
    suspensions: suspensions.map(spanOf),
  };
}

function spanOf({ since, endedAt }: { since: Date; endedAt: Date | null }) {
  return { since: since.getTime(), until: endedAt?.getTime() ?? null };
}

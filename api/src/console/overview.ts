import { toPublicId } from '@gwk/core/ids';
import { ExpiringMap } from '@gwk/core/async/expiring-map';
import { OverviewOut, type TrafficPoint } from '@gwk/core/resources/console-overview';
import { INSTANCE_STATES } from '@gwk/core/states';
import type { z } from 'zod';
import { listRestriction, type Caller } from '../accounts/caller.js';
import type { Database, Queryable } from '../database/database.js';
import { operation } from '../http/operation.js';

type Overview = z.output<typeof OverviewOut>;
type Attention = Overview['attention'];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MAX_ATTENTION = 100;

/** Units of the two charts: length and number of their points. */
const UNITS = { hour: { ms: HOUR_MS, points: 24 }, day: { ms: DAY_MS, points: 30 } };
type Unit = keyof typeof UNITS;

interface Counts extends Omit<z.output<typeof TrafficPoint>, 'start'> {
  delivered: number;
  read: number;
}

/** Counting 30 days reads each message of the account, so the result is kept for a minute. */
const countedDays = new ExpiringMap<Map<number, Counts>>({ max: 1_000, ttlMs: 60_000 });

const getOverview = operation({
  name: 'getOverview',
  method: 'GET',
  path: '/console/api/overview',
  summary: 'Show the state of the account at a glance',
  description:
    'A restricted member sees the own instances and no webhooks. Messages count at the time of their acceptance or receipt. The chart of days is up to a minute old.',
  scope: null,
  person: 'overview:read',
  status: 200,
  result: OverviewOut,
  async handle({ caller, services: { db } }) {
    const seesWebhooks = caller.instances === null && caller.scopes.has('webhooks:read');
    const [instances, hours, days, webhooks, attention] = await Promise.all([
      countInstances(db, caller),
      countMessages(db, caller, 'hour'),
      countDays(db, caller),
      seesWebhooks ? readWebhookSuccess(db, caller) : null,
      listAttention(db, caller, seesWebhooks),
    ]);
    const recent = [...hours.values()];
    const sum = (field: keyof Counts) => recent.reduce((total, counts) => total + counts[field], 0);
    const body: Overview = {
      instances,
      hours: fillPoints(hours, 'hour'),
      days: fillPoints(days, 'day'),
      delivery_rate: divide(sum('delivered'), sum('sent')),
      read_rate: divide(sum('read'), sum('sent')),
      webhook_success: webhooks,
      attention,
    };
    return { status: 200, body, headers: ['Cache-Control', 'no-store'] };
  },
});

const divide = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

/** Start of the first point of a chart, in milliseconds since 1970. */
const findStart = (unit: Unit): number => {
  const { ms, points } = UNITS[unit];
  return (Math.floor(Date.now() / ms) - points + 1) * ms;
};

function fillPoints(counted: ReadonlyMap<number, Counts>, unit: Unit): Overview['hours'] {
  const first = findStart(unit);
  return Array.from({ length: UNITS[unit].points }, (_, index) => {
    const start = first + index * UNITS[unit].ms;
    const { sent = 0, failed = 0, received = 0 } = counted.get(start) ?? {};
    return { start: new Date(start).toISOString(), sent, failed, received };
  });
}

async function countInstances(db: Database, caller: Caller): Promise<Overview['instances']> {
  const rows = await db.instance.groupBy({
    by: ['state'],
    where: visibleInstances(caller),
    _count: true,
  });
  const counts = new Map(rows.map(({ state, _count }) => [state, _count]));
  return Object.fromEntries(
    INSTANCE_STATES.map((state) => [state, counts.get(state) ?? 0]),
  ) as Overview['instances'];
}

const visibleInstances = (caller: Caller) => {
  const ids = listRestriction(caller);
  return { accountId: caller.accountId, deletedAt: null, ...(ids && { id: { in: ids } }) };
};

async function countDays(db: Queryable, caller: Caller): Promise<Map<number, Counts>> {
  const name = `${caller.accountId} ${listRestriction(caller)?.sort().join() ?? 'all'}`;
  const known = countedDays.get(name);
  if (known) return known;
  const counted = await countMessages(db, caller, 'day');
  countedDays.set(name, counted);
  return counted;
}

/** Counts messages by the start of the hour or day in which they were accepted or received. */
async function countMessages(db: Queryable, caller: Caller, unit: Unit): Promise<Map<number, Counts>> {
  const since = new Date(findStart(unit)).toISOString();
  const rows = await db.$queryRaw<(Counts & { start: Date })[]>`
    SELECT date_trunc(${unit}, m.created_at, 'UTC') AS start,
      count(*) FILTER (WHERE m.direction = 'outbound' AND m.sent_at IS NOT NULL)::integer AS sent,
      count(*) FILTER (WHERE m.direction = 'outbound' AND m.failed_at IS NOT NULL)::integer AS failed,
      count(*) FILTER (WHERE m.direction = 'inbound')::integer AS received,
      count(*) FILTER (WHERE m.direction = 'outbound' AND m.delivered_at IS NOT NULL)::integer AS delivered,
      count(*) FILTER (WHERE m.direction = 'outbound' AND m.read_at IS NOT NULL)::integer AS read
    FROM messages m
    WHERE m.account_id = ${caller.accountId}::uuid AND m.id >= gwk_lowest_id(${since}::timestamptz)
      AND gwk_id_bucket_256ms(m.id) >= gwk_id_bucket_256ms(gwk_lowest_id(${since}::timestamptz))
      AND (${listRestriction(caller)}::uuid[] IS NULL OR m.instance_id = ANY (${listRestriction(caller)}::uuid[]))
    GROUP BY 1`;
  return new Map(rows.map(({ start, ...counts }) => [start.getTime(), counts]));
}

async function readWebhookSuccess(db: Queryable, { accountId }: Caller): Promise<number | null> {
  const since = new Date(Date.now() - DAY_MS).toISOString();
  const [found] = await db.$queryRaw<{ succeeded: number; failed: number }[]>`
    SELECT count(*) FILTER (WHERE d.status = 'succeeded')::integer AS succeeded,
      count(*) FILTER (WHERE d.status = 'failed')::integer AS failed
    FROM webhook_endpoints e JOIN webhook_deliveries d ON d.endpoint_id = e.id
    WHERE e.account_id = ${accountId}::uuid AND d.id >= gwk_lowest_id(${since}::timestamptz)`;
  const { succeeded, failed } = found!;
  return divide(succeeded, succeeded + failed);
}

const findReason = (state: string): Attention[number]['reason'] =>
  state === 'logged_out' || state === 'banned' ? state : 'restricted';

async function listAttention(db: Database, caller: Caller, seesWebhooks: boolean): Promise<Attention> {
  const instances = await db.instance.findMany({
    where: {
      ...visibleInstances(caller),
      OR: [{ state: { in: ['logged_out', 'banned'] } }, { restrictedUntil: { gt: new Date() } }],
    },
    orderBy: { id: 'asc' },
    take: MAX_ATTENTION,
  });
  const endpoints = seesWebhooks
    ? await db.webhookEndpoint.findMany({
        where: {
          accountId: caller.accountId,
          OR: [{ disabledReason: { not: null } }, { failingSince: { not: null } }],
        },
        orderBy: { id: 'asc' },
      })
    : [];
  return [
    ...instances.map(({ id, state, name }) => ({
      reason: findReason(state),
      instance_id: toPublicId('instance', id),
      endpoint_id: null,
      name,
    })),
    ...endpoints.map(({ id, disabledReason, url }) => ({
      reason: disabledReason === null ? ('webhook_failing' as const) : ('webhook_disabled' as const),
      instance_id: null,
      endpoint_id: toPublicId('endpoint', id),
      name: url,
    })),
  ].slice(0, MAX_ATTENTION);
}

export const overviewOperations = [getOverview];

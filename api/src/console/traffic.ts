import { ExpiringMap } from '@gwk/core/async/expiring-map';
import { lowestUuidAt } from '@gwk/core/ids/ids';
import type { TrafficPoint } from '../resources/console/overview.js';
import type { z } from 'zod';
import { listRestriction, type Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';

/** The worker counts the hours of the last days (jobs/traffic.ts). `done_at`: end of the hours it has counted. */
export const TRAFFIC_TASK = 'count traffic';
export const TRAFFIC_DAYS = 31;

const HOUR_MS = 3_600_000;
const HOURS_OF_DAY = 24;

/** Points of the two charts: their length in hours, and their number. */
const CHARTS = { hours: { length: 1, points: 24 }, days: { length: HOURS_OF_DAY, points: 30 } };

type Point = z.output<typeof TrafficPoint>;

interface Counts extends Omit<Point, 'start'> {
  delivered: number;
  read: number;
  webhooksSucceeded: number;
  webhooksFailed: number;
}
const FIELDS = [
  'sent',
  'failed',
  'received',
  'delivered',
  'read',
  'webhooksSucceeded',
  'webhooksFailed',
] as const satisfies readonly (keyof Counts)[];

/** Counts of one hour, which is counted from 1970. */
interface Hour extends Counts {
  hour: number;
}

export interface Traffic {
  hours: Point[];
  days: Point[];
  /** Counts of the last 24 hours. */
  recent: Counts;
}

/** The worker does not count by instance. Counting 30 days reads every message, so the result is kept for a minute. */
const countedOfMembers = new ExpiringMap<Hour[]>({ max: 1_000, ttlMs: 60_000 });

export async function readTraffic(db: Database, caller: Caller): Promise<Traffic> {
  const now = Math.floor(Date.now() / HOUR_MS);
  const hours = await (caller.instances === null
    ? readHours(db, caller.accountId, now)
    : countHoursOfMember(db, caller, now));
  const recent = sum(hours.filter(({ hour }) => hour > now - HOURS_OF_DAY));
  return { hours: fillPoints(hours, 'hours', now), days: fillPoints(hours, 'days', now), recent };
}

/** First hour of the chart of days, which begin at midnight (UTC). */
const firstHour = (now: number): number =>
  (Math.floor(now / HOURS_OF_DAY) - CHARTS.days.points + 1) * HOURS_OF_DAY;

/** Reads the hours that the worker has counted, and counts the rest. */
async function readHours(db: Database, accountId: string, now: number): Promise<Hour[]> {
  const task = await db.maintenanceTask.findUnique({ where: { task: TRAFFIC_TASK } });
  const first = firstHour(now);
  const rest = Math.max(Math.floor((task?.doneAt.getTime() ?? 0) / HOUR_MS), first);
  const rows = await db.accountTrafficHour.findMany({
    where: { accountId, start: { gte: new Date(first * HOUR_MS), lt: new Date(rest * HOUR_MS) } },
  });
  const low = lowestUuidAt(rest * HOUR_MS);
  const [messages, deliveries] = await Promise.all([
    db.$queryRaw<Hour[]>`SELECT * FROM gwk_messages_by_hour(${accountId}::uuid, ${low}::uuid)`,
    db.$queryRaw<Hour[]>`
      SELECT hour, webhooks_succeeded AS "webhooksSucceeded", webhooks_failed AS "webhooksFailed"
      FROM gwk_deliveries_by_hour(${accountId}::uuid, ${low}::uuid)`,
  ]);
  return [
    ...rows.map(({ start, ...counts }) => ({ ...counts, hour: start.getTime() / HOUR_MS })),
    ...messages,
    ...deliveries,
  ];
}

async function countHoursOfMember(db: Database, caller: Caller, now: number): Promise<Hour[]> {
  const instances = listRestriction(caller)!.sort();
  const name = `${caller.accountId} ${instances.join()}`;
  const known = countedOfMembers.get(name);
  if (known) return known;
  const low = lowestUuidAt(firstHour(now) * HOUR_MS);
  const counted = await db.$queryRaw<Hour[]>`
    SELECT * FROM gwk_messages_of_instances_by_hour(${instances}::uuid[], ${low}::uuid)`;
  countedOfMembers.set(name, counted);
  return counted;
}

const sum = (hours: readonly Partial<Hour>[]): Counts =>
  Object.fromEntries(
    FIELDS.map((field) => [field, hours.reduce((total, hour) => total + (hour[field] ?? 0), 0)]),
  ) as Record<(typeof FIELDS)[number], number>;

function fillPoints(hours: readonly Hour[], chart: keyof typeof CHARTS, now: number): Point[] {
  const { length, points } = CHARTS[chart];
  const byPoint = Map.groupBy(hours, ({ hour }) => Math.floor(hour / length));
  const first = Math.floor(now / length) - points + 1;
  return Array.from({ length: points }, (_, index) => {
    const { sent, failed, received } = sum(byPoint.get(first + index) ?? []);
    const start = new Date((first + index) * length * HOUR_MS).toISOString();
    return { start, sent, failed, received };
  });
}

import { firstMoment, offsetAt } from '../../policy/time-zone.js';

export interface StateInterval {
  state: string;
  reason: string | null;
  since: number;
  /** Null: the current state. */
  until: number | null;
}

export interface AvailabilityInput {
  /** `YYYY-MM` */
  month: string;
  timezone: string;
  /** Intervals that touch the month, and those that lead to an outage that does: oldest first, not overlapping. */
  intervals: readonly StateInterval[];
  /** Periods in which the resource suspended the instance. */
  suspensions: readonly { since: number; until: number | null }[];
  /** Null: never connected. */
  firstConnectedAt: number | null;
  now: number;
}

interface Period {
  start: number;
  end: number;
}

interface MeasuredInterval extends Period {
  up: boolean;
  /** State and reason that opened the outage, where `up` is false. */
  state: string;
  reason: string | null;
}

const DAY = 86_400_000;

/**
 * Availability of one month, computed from recorded states. Times are milliseconds since 1970.
 *
 * `connected` counts as up. Measured time starts at the first connection and leaves out `pending_pair` and suspensions.
 * An incident is unbroken measured time without a connection. It carries the state and reason that opened it, even when
 * it opened before the month.
 */
export function computeAvailability(input: AvailabilityInput) {
  const { firstConnectedAt, now } = input;
  const days = dayPeriods(input.month, input.timezone);
  const month = { start: days[0]!.start, end: days.at(-1)!.end };
  const isPast = month.end <= now;
  const isFuture = month.start >= now;
  const end = isPast || isFuture ? month.end : now;
  const startsWithin = firstConnectedAt !== null && firstConnectedAt > month.start && firstConnectedAt < end;
  const period = { start: startsWithin ? firstConnectedAt : month.start, end };
  const measured = measureIntervals(input).flatMap((interval) => cut(interval, period));
  const total = sumDurations(measured, period);
  return {
    period_start: period.start,
    period_end: period.end,
    uptime: uptimePercentage(total),
    up_seconds: Math.round(total.up / 1000),
    tracked_seconds: Math.round(total.tracked / 1000),
    incidents: measured
      .filter(({ up }) => !up)
      .map(({ start, end, state, reason }) => ({
        start,
        /** Null: still down. */
        end: end >= now ? null : end,
        duration_s: Math.round((end - start) / 1000),
        state,
        reason,
      })),
    days: days
      .filter((day) => day.start < now)
      .map((day) => ({ date: day.date, uptime: uptimePercentage(sumDurations(measured, day)) })),
  };
}

/** @returns the measured time until now, oldest first; an outage is one interval */
function measureIntervals(input: AvailabilityInput): MeasuredInterval[] {
  const { intervals, suspensions, firstConnectedAt, now } = input;
  if (firstConnectedAt === null) return [];
  let measured = intervals
    .filter(({ state }) => state !== 'pending_pair')
    .map(({ state, reason, since, until }) => {
      return { start: since, end: until ?? now, up: state === 'connected', state, reason };
    })
    .flatMap((interval) => cut(interval, { start: firstConnectedAt, end: now }));
  for (const { since, until } of suspensions) {
    measured = measured.flatMap((interval) => [
      ...cut(interval, { start: -Infinity, end: since }),
      ...cut(interval, { start: until ?? now, end: Infinity }),
    ]);
  }
  return mergeOutages(measured);
}

function mergeOutages(intervals: readonly MeasuredInterval[]): MeasuredInterval[] {
  const merged: MeasuredInterval[] = [];
  for (const interval of intervals) {
    const last = merged.at(-1);
    const continues = last && !last.up && !interval.up && last.end === interval.start;
    if (continues) last.end = interval.end;
    else merged.push({ ...interval });
  }
  return merged;
}

/** @returns the part of an interval that lies in a period, or nothing */
function cut(interval: MeasuredInterval, period: Period): MeasuredInterval[] {
  const start = Math.max(interval.start, period.start);
  const end = Math.min(interval.end, period.end);
  return start < end ? [{ ...interval, start, end }] : [];
}

function sumDurations(intervals: readonly MeasuredInterval[], period: Period) {
  const total = { up: 0, tracked: 0 };
  for (const { start, end, up } of intervals.flatMap((interval) => cut(interval, period))) {
    total.tracked += end - start;
    if (up) total.up += end - start;
  }
  return total;
}

/** Percentage with two decimals; null when the period holds no measured time. */
function uptimePercentage({ up, tracked }: { up: number; tracked: number }): number | null {
  return tracked === 0 ? null : Math.round((up / tracked) * 10_000) / 100;
}

function dayPeriods(month: string, timezone: string): (Period & { date: string })[] {
  const [year, number] = month.split('-').map(Number) as [number, number];
  const days = new Date(Date.UTC(year, number, 0)).getUTCDate();
  return Array.from({ length: days }, (_, index) => {
    const wall = Date.UTC(year, number - 1, index + 1);
    return {
      date: `${month}-${String(index + 1).padStart(2, '0')}`,
      start: firstMoment(wall, timezone),
      end: firstMoment(wall + DAY, timezone),
    };
  });
}

/** @returns the local month of a moment, `YYYY-MM` */
export function monthAt(moment: number, timezone: string): string {
  return new Date(moment + offsetAt(moment, timezone)).toISOString().slice(0, 7);
}

/** Accepts 1970-01 to 8999-12: in every time zone the ends of these months have years of four digits. */
export function isMonth(text: string): boolean {
  return /^(?:19[7-9]|[2-8][0-9]{2})[0-9]-(?:0[1-9]|1[0-2])$/.test(text);
}

/** @returns the range of recorded states to read for a month, widened for any time zone */
export function historyRange(month: string): { from: Date; to: Date } {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return { from: new Date(Date.UTC(year, number - 1, 0)), to: new Date(Date.UTC(year, number, 2)) };
}

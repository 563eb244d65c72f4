import { firstMoment, offsetAt } from '../time-zone.js';
import {
  measureIntervals,
  sumDurations,
  uptimePercentage,
  type MeasuredInterval,
  type Period,
  type StateHistory,
} from './intervals.js';

export interface AvailabilityInput extends StateHistory {
  /** `YYYY-MM` */
  month: string;
  timezone: string;
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
  const month = monthPeriod(input.month, input.timezone);
  const isPast = month.end <= now;
  const isFuture = month.start >= now;
  const end = isPast || isFuture ? month.end : now;
  const startsWithin = firstConnectedAt !== null && firstConnectedAt > month.start && firstConnectedAt < end;
  const period = { start: startsWithin ? firstConnectedAt : month.start, end };
  const measured = measureIntervals(input, period);
  const total = sumDurations(measured, period);
  return {
    period_start: period.start,
    period_end: period.end,
    uptime: uptimePercentage(total),
    up_seconds: Math.round(total.up / 1000),
    tracked_seconds: Math.round(total.tracked / 1000),
    incidents: groupIncidents(measured, now),
    days: dayPeriods(input.month, input.timezone)
      .filter((day) => day.start < now)
      .map((day) => ({ date: day.date, uptime: uptimePercentage(sumDurations(measured, day)) })),
  };
}

function groupIncidents(measured: readonly MeasuredInterval[], now: number) {
  const outages: MeasuredInterval[] = [];
  for (const interval of measured) {
    if (interval.up) continue;
    const last = outages.at(-1);
    if (last?.end === interval.start) outages[outages.length - 1] = { ...last, end: interval.end };
    else outages.push(interval);
  }
  return outages.map(({ start, end, state, reason }) => ({
    start,
    /** Null: still down. */
    end: end >= now ? null : end,
    duration_s: Math.round((end - start) / 1000),
    state,
    reason,
  }));
}

function monthPeriod(month: string, timezone: string): Period {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return {
    start: firstMoment(Date.UTC(year, number - 1, 1), timezone),
    end: firstMoment(Date.UTC(year, number, 1), timezone),
  };
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

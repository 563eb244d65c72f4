import { firstMoment, offsetAt } from '../time-zone.js';
import { cut, measure, percentage, type Interval, type Span, type Stretch } from './stretches.js';

/**
 * Availability of one month, from recorded states (spec: AvailabilityOut). Pure: intervals in, answer out. Moments are
 * milliseconds since 1970.
 *
 * Up is `connected`. Measured is every recorded state but `pending_pair`, outside of suspensions, from the first
 * connection on. An incident is an unbroken stretch of measured time without connection; it bears the state and the
 * reason that opened it, even where that was before the month.
 */
export interface AvailabilityQuestion {
  /** Oldest first, without overlap; those that touch the month, and what leads up to an outage that does. */
  intervals: readonly Interval[];
  /** Spans in which the instance was suspended by its resource: nobody expected it to be there. */
  suspensions: readonly { since: number; until: number | null }[];
  /** Null: never connected. */
  firstConnectedAt: number | null;
  /** `YYYY-MM` */
  month: string;
  timezone: string;
  now: number;
}

export interface Incident {
  start: number;
  /** Null: still down. */
  end: number | null;
  duration_s: number;
  state: string;
  reason: string | null;
}

export interface Availability {
  period_start: number;
  period_end: number;
  uptime: number | null;
  up_seconds: number;
  tracked_seconds: number;
  incidents: Incident[];
  days: { date: string; uptime: number | null }[];
}

const DAY = 86_400_000;

export function computeAvailability(question: AvailabilityQuestion): Availability {
  const { firstConnectedAt, now } = question;
  const month = monthSpan(question.month, question.timezone);
  const isPast = month.end <= now;
  const isFuture = month.start >= now;
  const end = isPast || isFuture ? month.end : now;
  const begun = firstConnectedAt !== null && firstConnectedAt > month.start && firstConnectedAt < end;
  const period = { start: begun ? firstConnectedAt : month.start, end };
  const stretches = cut(question, period);
  const total = measure(stretches, period);
  return {
    period_start: period.start,
    period_end: period.end,
    uptime: percentage(total),
    up_seconds: Math.round(total.up / 1000),
    tracked_seconds: Math.round(total.tracked / 1000),
    incidents: incidentsOf(stretches, now),
    days: daySpans(question.month, question.timezone)
      .filter((day) => day.start < now)
      .map((day) => ({ date: day.date, uptime: percentage(measure(stretches, day)) })),
  };
}

function incidentsOf(stretches: readonly Stretch[], now: number): Incident[] {
  const outages: Stretch[] = [];
  for (const stretch of stretches) {
    if (stretch.up) continue;
    const last = outages.at(-1);
    if (last?.end === stretch.start) outages[outages.length - 1] = { ...last, end: stretch.end };
    else outages.push(stretch);
  }
  return outages.map(({ start, end, state, reason }) => ({
    start,
    end: end >= now ? null : end,
    duration_s: Math.round((end - start) / 1000),
    state,
    reason,
  }));
}

function monthSpan(month: string, timezone: string): Span {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return {
    start: firstMoment(Date.UTC(year, number - 1, 1), timezone),
    end: firstMoment(Date.UTC(year, number, 1), timezone),
  };
}

function daySpans(month: string, timezone: string): (Span & { date: string })[] {
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

/** `YYYY-MM` of a moment on the zone's clock. */
export function monthAt(moment: number, timezone: string): string {
  return new Date(moment + offsetAt(moment, timezone)).toISOString().slice(0, 7);
}

/** The months that can be asked for: those whose ends are dates of four digits everywhere. */
export function isMonth(text: string): boolean {
  return /^(?:19[7-9]|[2-8][0-9]{2})[0-9]-(?:0[1-9]|1[0-2])$/.test(text);
}

/** From and to of what has to be read for a month: with room for any zone's clock. */
export function readSpan(month: string): { from: Date; to: Date } {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return { from: new Date(Date.UTC(year, number - 1, 0)), to: new Date(Date.UTC(year, number, 2)) };
}

/** Availability arithmetic: cuts recorded states to a period and leaves out time that does not count. */
export interface StateInterval {
  state: string;
  reason: string | null;
  since: number;
  /** Null: the current state. */
  until: number | null;
}

export interface Period {
  start: number;
  end: number;
}

export interface MeasuredInterval extends Period {
  up: boolean;
  /** State and reason that opened the outage, where `up` is false. */
  state: string;
  reason: string | null;
}

export interface StateHistory {
  /** Intervals that touch the month, and those that lead to an outage that does: oldest first, not overlapping. */
  intervals: readonly StateInterval[];
  /** Periods in which the resource suspended the instance. */
  suspensions: readonly { since: number; until: number | null }[];
  /** Null: never connected. */
  firstConnectedAt: number | null;
  now: number;
}

/** @returns the measured time of the period, oldest first */
export function measureIntervals(history: StateHistory, period: Period): MeasuredInterval[] {
  const { intervals, suspensions, firstConnectedAt, now } = history;
  if (firstConnectedAt === null) return [];
  const suspended = suspensions.map(({ since, until }) => ({ start: since, end: until ?? now }));
  const measured = intervals
    .map(({ state, reason, since, until }) => ({
      start: Math.max(since, firstConnectedAt),
      end: Math.min(until ?? now, now),
      up: state === 'connected',
      state,
      reason,
    }))
    .filter(({ state, start, end }) => state !== 'pending_pair' && start < end)
    .flatMap((interval) => subtractPeriods(interval, suspended));
  return carryOutageCause(measured).flatMap((interval) => {
    const start = Math.max(interval.start, period.start);
    const end = Math.min(interval.end, period.end);
    return start < end ? [{ ...interval, start, end }] : [];
  });
}

/** Gives each interval of an outage the state and reason of its first one. */
function carryOutageCause(intervals: readonly MeasuredInterval[]): MeasuredInterval[] {
  let before: MeasuredInterval | undefined;
  return intervals.map((interval) => {
    const continues = before && !before.up && !interval.up && before.end === interval.start;
    before = continues ? { ...interval, state: before!.state, reason: before!.reason } : interval;
    return before;
  });
}

function subtractPeriods(interval: MeasuredInterval, periods: readonly Period[]): MeasuredInterval[] {
  let parts = [interval];
  for (const period of periods) {
    parts = parts.flatMap((part) =>
      [
        { ...part, end: Math.min(part.end, period.start) },
        { ...part, start: Math.max(part.start, period.end) },
      ].filter(({ start, end }) => start < end),
    );
  }
  return parts;
}

export function sumDurations(
  intervals: readonly MeasuredInterval[],
  period: Period,
): { up: number; tracked: number } {
  let up = 0;
  let tracked = 0;
  for (const interval of intervals) {
    const length = Math.min(interval.end, period.end) - Math.max(interval.start, period.start);
    if (length <= 0) continue;
    tracked += length;
    if (interval.up) up += length;
  }
  return { up, tracked };
}

/** Percentage with two decimals; null when the period holds no measured time. */
export function uptimePercentage({ up, tracked }: { up: number; tracked: number }): number | null {
  return tracked === 0 ? null : Math.round((up / tracked) * 10_000) / 100;
}

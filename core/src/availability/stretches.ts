/** Time as availability counts it: recorded states cut to a period, without what is not measured. */
export interface Interval {
  state: string;
  reason: string | null;
  since: number;
  /** Null: the present state. */
  until: number | null;
}

export interface Span {
  start: number;
  end: number;
}

export interface Stretch extends Span {
  up: boolean;
  /** Of an outage: what opened it. */
  state: string;
  reason: string | null;
}

export interface Recorded {
  intervals: readonly Interval[];
  suspensions: readonly { since: number; until: number | null }[];
  firstConnectedAt: number | null;
  now: number;
}

/** The measured time of the period, in order. */
export function cut({ intervals, suspensions, firstConnectedAt, now }: Recorded, period: Span): Stretch[] {
  if (firstConnectedAt === null) return [];
  const spans = suspensions.map(({ since, until }) => ({ start: since, end: until ?? now }));
  const measured = intervals
    .map(({ state, reason, since, until }) => ({
      start: Math.max(since, firstConnectedAt),
      end: Math.min(until ?? now, now),
      up: state === 'connected',
      state,
      reason,
    }))
    .filter(({ state, start, end }) => state !== 'pending_pair' && start < end)
    .flatMap((stretch) => without(stretch, spans));
  return openedBy(measured).flatMap((stretch) => {
    const start = Math.max(stretch.start, period.start);
    const end = Math.min(stretch.end, period.end);
    return start < end ? [{ ...stretch, start, end }] : [];
  });
}

/** An outage that passes through several states bears the first of them. */
function openedBy(stretches: readonly Stretch[]): Stretch[] {
  let before: Stretch | undefined;
  return stretches.map((stretch) => {
    const goesOn = before && !before.up && !stretch.up && before.end === stretch.start;
    before = goesOn ? { ...stretch, state: before!.state, reason: before!.reason } : stretch;
    return before;
  });
}

function without(stretch: Stretch, spans: readonly Span[]): Stretch[] {
  let parts = [stretch];
  for (const span of spans) {
    parts = parts.flatMap((part) =>
      [
        { ...part, end: Math.min(part.end, span.start) },
        { ...part, start: Math.max(part.start, span.end) },
      ].filter(({ start, end }) => start < end),
    );
  }
  return parts;
}

export function measure(stretches: readonly Stretch[], span: Span): { up: number; tracked: number } {
  let up = 0;
  let tracked = 0;
  for (const stretch of stretches) {
    const length = Math.min(stretch.end, span.end) - Math.max(stretch.start, span.start);
    if (length <= 0) continue;
    tracked += length;
    if (stretch.up) up += length;
  }
  return { up, tracked };
}

/** Two decimals; null where nothing was measured. */
export function percentage({ up, tracked }: { up: number; tracked: number }): number | null {
  return tracked === 0 ? null : Math.round((up / tracked) * 10_000) / 100;
}

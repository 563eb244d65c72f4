import { firstMoment, offsetAt } from './time-zone.js';
import type { ActiveHours } from './policy.js';

type ActiveHoursDecision = { do: 'accept' } | { do: 'refuse' } | { do: 'schedule'; at: Date };

interface ActiveHoursInput {
  hours: ActiveHours | null;
  now: Date;
  /** When the contact last wrote to this instance. Groups always count as contacts that write. */
  lastWroteAt: Date | null;
}

const DAY = 86_400_000;
const MINUTE = 60_000;

/**
 * Active hours: the window in which an instance may write to contacts who did not write to it in the last 24 hours.
 *
 * A window starts on a local day at the first moment whose local time is `start` or later. It ends at the next moment
 * whose local time is `end` or later. If daylight saving skips a time, the moment of the change counts; if it repeats a
 * time, the first occurrence counts. If `end` is at or before `start`, the window ends on the next day.
 */
export function decideActiveHours({ hours, now, lastWroteAt }: ActiveHoursInput): ActiveHoursDecision {
  if (hours === null || (lastWroteAt !== null && now.getTime() - lastWroteAt.getTime() < DAY)) {
    return { do: 'accept' };
  }
  const window = windowAt(hours, now.getTime());
  if (window.open) return { do: 'accept' };
  return hours.outside === 'reject' ? { do: 'refuse' } : { do: 'schedule', at: new Date(window.until) };
}

/** Whether the window is open, and the period of that state: from `since`, before `until`. */
interface WindowState {
  open: boolean;
  since: number;
  until: number;
}

/** Cache of the last state of each window; valid until the window opens or closes. */
const cache = new Map<string, WindowState>();
const MAX_CACHED = 10_000;

function windowAt(hours: ActiveHours, now: number): WindowState {
  const key = `${hours.start} ${hours.end} ${hours.timezone}`;
  const known = cache.get(key);
  if (known && now >= known.since && now < known.until) return known;
  const state = computeWindow(hours, now);
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(key, state);
  return state;
}

function computeWindow(hours: ActiveHours, now: number): WindowState {
  const today = Math.floor((now + offsetAt(now, hours.timezone)) / DAY);
  let closedSince = 0;
  for (let day = today - 2; ; day++) {
    const opens = firstMoment(day * DAY + parseClock(hours.start), hours.timezone);
    const lastDay = parseClock(hours.end) > parseClock(hours.start) ? day : day + 1;
    const closes = firstMoment(lastDay * DAY + parseClock(hours.end), hours.timezone);
    // Daylight saving skips the whole window on this day.
    if (closes <= opens) continue;
    if (now < opens) return { open: false, since: closedSince, until: opens };
    if (now < closes) return { open: true, since: opens, until: closes };
    closedSince = closes;
  }
}

function parseClock(clock: string): number {
  const [hours, minutes] = clock.split(':').map(Number) as [number, number];
  return (hours * 60 + minutes) * MINUTE;
}

import { firstMoment, offsetAt } from '../time-zone.js';
import type { ActiveHours } from './policy.js';

/**
 * The window in which an instance may write to people who did not write to it in the last 24 hours.
 *
 * A window begins on a local day at the first moment that the clock there shows `start` or later, and ends at the first
 * moment after that shows `end` or later: where the clock is put forward over a time, the moment of the change counts,
 * and where it is put back, the first of the two. `end` at or before `start` is on the next day.
 */
type ActiveHoursDecision = { do: 'accept' } | { do: 'refuse' } | { do: 'schedule'; at: Date };

interface ActiveHoursInput {
  hours: ActiveHours | null;
  now: Date;
  /** When the contact last wrote to this instance; a group counts as a contact that writes. */
  lastWroteAt: Date | null;
}

const DAY = 86_400_000;
const MINUTE = 60_000;

export function decideActiveHours({ hours, now, lastWroteAt }: ActiveHoursInput): ActiveHoursDecision {
  if (hours === null || (lastWroteAt !== null && now.getTime() - lastWroteAt.getTime() < DAY)) {
    return { do: 'accept' };
  }
  const window = windowAt(hours, now.getTime());
  if (window.open) return { do: 'accept' };
  return hours.outside === 'reject' ? { do: 'refuse' } : { do: 'schedule', at: new Date(window.until) };
}

/** Whether the window is open, and how long that stays so: from `since` until before `until`. */
interface WindowState {
  open: boolean;
  since: number;
  until: number;
}

/** The last answer for each window: it holds until the window opens or closes. */
const remembered = new Map<string, WindowState>();
const MAX_REMEMBERED = 10_000;

function windowAt(hours: ActiveHours, now: number): WindowState {
  const key = `${hours.start} ${hours.end} ${hours.timezone}`;
  const known = remembered.get(key);
  if (known && now >= known.since && now < known.until) return known;
  const state = computeWindow(hours, now);
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(key, state);
  return state;
}

function computeWindow(hours: ActiveHours, now: number): WindowState {
  const today = Math.floor((now + offsetAt(now, hours.timezone)) / DAY);
  let closedSince = 0;
  for (let day = today - 2; ; day++) {
    const opens = firstMoment(day * DAY + timeOf(hours.start), hours.timezone);
    const lastDay = timeOf(hours.end) > timeOf(hours.start) ? day : day + 1;
    const closes = firstMoment(lastDay * DAY + timeOf(hours.end), hours.timezone);
    // A window that lies within an hour that the clock skips is not opened on that day.
    if (closes <= opens) continue;
    if (now < opens) return { open: false, since: closedSince, until: opens };
    if (now < closes) return { open: true, since: opens, until: closes };
    closedSince = closes;
  }
}

function timeOf(clock: string): number {
  const [hours, minutes] = clock.split(':').map(Number) as [number, number];
  return (hours * 60 + minutes) * MINUTE;
}

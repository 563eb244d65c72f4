import type { InstanceEvent } from '../cluster.js';

/** An event with the number of its consecutive repetitions. */
export type RecordedEvent = InstanceEvent & { first: string; last: string; count: number };
export type EventList = RecordedEvent[];

const MAX_EVENTS = 50;

/** Appends an event, or increases the count of an equal last event. */
export function appendEvent(events: EventList, event: InstanceEvent, now: string): EventList {
  const last = events.at(-1);
  if (last?.reason === event.reason && last.message === event.message) {
    return [...events.slice(0, -1), { ...last, last: now, count: last.count + 1 }];
  }
  return [...events, { ...event, first: now, last: now, count: 1 }].slice(-MAX_EVENTS);
}

import type { InstanceEvent } from '../cluster.js';

/** One thing that happened to an instance, as often as it happened in a row. */
export type RecordedEvent = InstanceEvent & { first: string; last: string; count: number };
export type Story = RecordedEvent[];

const KEPT = 50;

/** The same thing again is counted, not repeated. */
export function appendEvent(story: Story, line: InstanceEvent, now: string): Story {
  const last = story.at(-1);
  if (last?.reason === line.reason && last.message === line.message) {
    return [...story.slice(0, -1), { ...last, last: now, count: last.count + 1 }];
  }
  return [...story, { ...line, first: now, last: now, count: 1 }].slice(-KEPT);
}

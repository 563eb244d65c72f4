import { ExpiringMap } from '@gwk/core/async/expiring-map';

const MAX_INSTANCES = 50_000;

/**
 * Limits how many contacts each engine may merge or part in a minute. A change locks both contacts with all their conversations,
 * and an engine could report a phone number with two LIDs in turn.
 */
export class ContactChanges {
  readonly #perMinute: number;
  readonly #counts: ExpiringMap<{ changes: number }>;

  constructor(perMinute = 600, now?: () => number) {
    this.#perMinute = perMinute;
    this.#counts = new ExpiringMap({ max: MAX_INSTANCES, ttlMs: 60_000 }, now);
  }

  allow(instanceId: string): boolean {
    return (this.#counts.get(instanceId)?.changes ?? 0) < this.#perMinute;
  }

  count(instanceId: string): void {
    const counted = this.#counts.get(instanceId);
    if (counted) counted.changes += 1;
    else this.#counts.set(instanceId, { changes: 1 });
  }
}

/** Counts the changes of all callers in this process. */
export const contactChanges = new ContactChanges();

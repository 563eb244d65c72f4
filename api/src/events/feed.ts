import pLimit from 'p-limit';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../database/database.js';
import {
  findAccountsWithEvents,
  readEventsAfter,
  type EventFilter,
  type EventsAfter,
  type Place,
} from './after.js';

declare module '../http/services.js' {
  interface Services {
    eventFeed: EventFeed;
  }
}

const POLL_MS = 250;
/** They leave most connections to Postgres to other requests. */
const READS_AT_ONCE = 4;
/** Streams of a process. Each holds a connection, and at most one page of events while its client reads. */
export const MAX_STREAMS = 2_000;
export const MAX_OWN_STREAMS = 50;

interface Waiter {
  accountId: string;
  place: Place;
  wake: () => void;
}

/**
 * New events for the readers in this process: requests that wait, and streams. Reads of the same events at the same time
 * are one statement, and one more asks for all waiting readers which accounts have news. Without waiting readers it asks
 * nothing.
 */
export class EventFeed {
  readonly #db: Database;
  readonly #limit = pLimit(READS_AT_ONCE);
  readonly #waiters = new Set<Waiter>();
  readonly #reads = new Map<string, Promise<EventsAfter>>();
  /** Open streams by key or person. */
  readonly #streams = new Map<string, number>();
  #polling = false;
  #closed = false;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Whether a key or person may open one more stream. */
  mayOpen(actor: string): boolean {
    const all = [...this.#streams.values()].reduce((sum, count) => sum + count, 0);
    return all < MAX_STREAMS && (this.#streams.get(actor) ?? 0) < MAX_OWN_STREAMS;
  }

  /** Counts a stream until `close`. */
  count(actor: string): { close: () => void } {
    this.#streams.set(actor, (this.#streams.get(actor) ?? 0) + 1);
    return {
      close: () => {
        const left = this.#streams.get(actor)! - 1;
        if (left === 0) this.#streams.delete(actor);
        else this.#streams.set(actor, left);
      },
    };
  }

  read(filter: EventFilter, after: Place, limit: number): Promise<EventsAfter> {
    const name = JSON.stringify([filter, after, limit]);
    let read = this.#reads.get(name);
    if (!read) {
      read = this.#limit(() => readEventsAfter(this.#db, filter, after, limit)).finally(() =>
        this.#reads.delete(name),
      );
      this.#reads.set(name, read);
    }
    return read;
  }

  /** Resolves when the account has events after the place, or at the signal. */
  async wait(accountId: string, place: Place, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#closed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    const waiter = { accountId, place, wake };
    this.#waiters.add(waiter);
    signal.addEventListener('abort', wake);
    if (!this.#polling) void this.#poll();
    await promise;
    signal.removeEventListener('abort', wake);
    this.#waiters.delete(waiter);
  }

  /** Ends all waiting, because the process stops. */
  close(): void {
    this.#closed = true;
    for (const { wake } of this.#waiters) wake();
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  async #poll(): Promise<void> {
    this.#polling = true;
    while (this.#waiters.size > 0) {
      await sleep(POLL_MS);
      const waiting = [...this.#waiters];
      const places = new Map<string, Place>();
      for (const { accountId, place } of waiting) {
        const { position, since } = places.get(accountId) ?? place;
        const lowest = { position: Math.min(position, place.position), since: Math.min(since, place.since) };
        places.set(accountId, { ...place, ...lowest });
      }
      if (places.size === 0) continue;
      // If Postgres is unavailable, the next poll asks again.
      const found = new Set(await findAccountsWithEvents(this.#db, places).catch(() => []));
      for (const { accountId, wake } of waiting) if (found.has(accountId)) wake();
    }
    this.#polling = false;
  }
}

import type { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { Redis } from '../platform/redis.js';

export interface RateVerdict {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Seconds to the end of the window. */
  reset: number;
}

const WINDOW_MS = 60_000;
/** Interval of the timeout check. A count times out at the first check after this time, so within 50 ms. */
const TIMEOUT_MS = 25;
const KEY_TTL_SECONDS = 120;
/** Subjects in one minute. Beyond it a process forgets them and reads the counts from Redis. */
const MAX_WINDOWS = 100_000;
/** Fraction of the limit below which requests do not wait, if the count from Redis is at most FRESH_MS old. */
const UNCONDITIONAL_FRACTION = 0.5;
const FRESH_MS = 1_000;
/** Delay of counts that nobody waits for: how far replicas may lag behind each other. */
const GATHER_MS = 10;

/** Counts of one subject in one minute. */
interface Window {
  minute: number;
  /** Highest count received from Redis. */
  counted: number;
  /** When that count was requested, on the monotonic clock. */
  countedAt: number;
  /** Local count that Redis has not confirmed. */
  uncounted: number;
  /** Whether the key in Redis has an expiry. */
  expires: boolean;
}

interface Group {
  window: Window;
  subject: string;
  size: number;
  /** Requests in the window before this group, as far as this process knows. */
  known: number;
  askedAt: number;
  settle: (before: number) => void;
  /** Resolves to the number of requests in the window before this group. */
  before: Promise<number>;
}

/**
 * Counts the requests of a key or an address in the current minute (fixed windows), in Redis for all replicas.
 *
 * Below half of the limit a request passes at once, by the last count from Redis and the local count since; Redis counts it
 * within 10 ms together with others. Above it, requests wait for Redis: those of one turn of the event loop are counted with
 * one command per subject. If Redis takes more than 50 ms or is unavailable, this process counts on from the last known count.
 */
export class RateLimiter {
  readonly #windows = new Map<string, Window>();
  #groups = new Map<string, Group>();
  #minute = 0;
  readonly #asked = new Set<Group>();
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  #flushing: NodeJS.Immediate | undefined;
  #gathering: NodeJS.Timeout | undefined;

  constructor(
    readonly redis: Redis,
    readonly keys: RedisKeys,
    readonly now: () => number = Date.now,
    readonly timeoutMs = TIMEOUT_MS,
  ) {}

  /** Counts one request; synchronously if the limit is known to be exceeded. */
  count(subject: string, limit: number): RateVerdict | Promise<RateVerdict> {
    const now = this.now();
    const window = this.#windowOf(subject, now);
    // No further count above the limit, so that a flood costs nothing more.
    if (window.counted >= limit) return verdictOf(window.counted + 1, limit, now);
    const isFar =
      window.counted + window.uncounted < limit * UNCONDITIONAL_FRACTION &&
      performance.now() - window.countedAt < FRESH_MS;
    const group = this.#groupOf(subject, window, isFar);
    const place = ++group.size;
    window.uncounted++;
    if (isFar) return verdictOf(window.counted + window.uncounted, limit, now);
    return group.before.then((before) => verdictOf(before + place, limit, now));
  }

  /** Joins the next write to Redis: within 10 ms if no request waits for it, else at the end of this turn. */
  #groupOf(subject: string, window: Window, isFar: boolean): Group {
    let group = this.#groups.get(subject);
    if (!group) {
      group = newGroup(subject, window);
      this.#groups.set(subject, group);
    }
    if (!isFar) this.#flushing ??= setImmediate(() => this.#flush());
    else this.#gathering ??= setTimeout(() => this.#flush(), GATHER_MS);
    return group;
  }

  /** Returns the state of a subject without counting, for the headers. */
  peek(subject: string, limit: number): RateVerdict {
    const now = this.now();
    const window = this.#windowOf(subject, now);
    return verdictOf(window.counted + window.uncounted, limit, now);
  }

  #windowOf(subject: string, now: number): Window {
    const minute = Math.floor(now / WINDOW_MS);
    if (minute !== this.#minute) {
      this.#windows.clear();
      this.#minute = minute;
    }
    let window = this.#windows.get(subject);
    if (!window) {
      if (this.#windows.size >= MAX_WINDOWS) this.#windows.clear();
      window = { minute, counted: 0, countedAt: -Infinity, uncounted: 0, expires: false };
      this.#windows.set(subject, window);
    }
    return window;
  }

  #flush(): void {
    clearImmediate(this.#flushing);
    clearTimeout(this.#gathering);
    this.#flushing = this.#gathering = undefined;
    const groups = [...this.#groups.values()];
    this.#groups = new Map();
    if (!this.redis.isReady) {
      for (const group of groups) countAlone(group);
      return;
    }
    const now = performance.now();
    for (const group of groups) {
      group.askedAt = now;
      this.#asked.add(group);
      void this.#countInRedis(group).finally(() => this.#asked.delete(group));
    }
    this.#lookLater();
  }

  /** One timer for all pending groups; none while there are no groups. */
  #lookLater(): void {
    if (this.#looking) return;
    this.#looking = true;
    this.#timer ??= setTimeout(() => {
      this.#looking = false;
      const before = performance.now() - this.timeoutMs;
      for (const group of this.#asked) if (group.askedAt <= before) countAlone(group);
      if (this.#asked.size > 0) this.#lookLater();
    }, this.timeoutMs);
    this.#timer.refresh();
  }

  async #countInRedis(group: Group): Promise<void> {
    const { subject, window, size } = group;
    const key = this.keys.rateLimit(subject, window.minute);
    try {
      const counting = this.redis.incrBy(key, size);
      if (!window.expires) {
        window.expires = true;
        // In the same write as the count, so that a crash cannot leave a key without an expiry.
        this.redis.expire(key, KEY_TTL_SECONDS).catch(() => (window.expires = false));
      }
      const total = await counting;
      window.uncounted -= size;
      window.counted = Math.max(window.counted, total);
      window.countedAt = Math.max(window.countedAt, group.askedAt);
      // After a data loss Redis counts less than this process.
      group.settle(Math.max(total - size, group.known));
    } catch {
      countAlone(group);
    }
  }
}

function newGroup(subject: string, window: Window): Group {
  const { promise: before, resolve: settle } = Promise.withResolvers<number>();
  return { subject, window, size: 0, known: window.counted + window.uncounted, askedAt: 0, settle, before };
}

/** Settles the group with the local count. A late answer from Redis still updates the window. */
function countAlone(group: Group): void {
  group.settle(group.known);
}

function verdictOf(used: number, limit: number, now: number): RateVerdict {
  return {
    allowed: used <= limit,
    limit,
    remaining: Math.max(0, limit - used),
    reset: Math.ceil((WINDOW_MS - (now % WINDOW_MS)) / 1000),
  };
}

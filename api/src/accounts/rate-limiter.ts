import type { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { Redis } from '../platform/redis.js';

/**
 * Requests of a key or an address in the present minute (fixed windows), counted in Redis for all replicas.
 *
 * Far from the limit a request is let in at once, by the last number that Redis told and what was counted here since,
 * and counted in Redis a moment later together with others. Nearer to it each waits for Redis: what arrives in one turn
 * of the event loop is counted together then, one command per subject, all in one write. Redis may take 50 ms; after
 * that, and while it is away, this process goes on counting from the last number it knows.
 */
export interface RateVerdict {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Seconds until the window ends. */
  reset: number;
}

const WINDOW_MS = 60_000;
/** Looked after this often, and given up at the first look after this long: 50 ms at most. */
const PATIENCE_MS = 25;
const KEY_TTL_SECONDS = 120;
/** Of the limit: up to there nobody waits, if Redis has told its number within FRESH_MS. */
const FAR = 0.5;
const FRESH_MS = 1_000;
/** Counted at once, told to Redis so much later: by how much replicas may lag behind each other. */
const GATHER_MS = 10;

/** What this process knows of one subject in one minute. */
interface Window {
  minute: number;
  /** The highest number that Redis has told. */
  counted: number;
  /** When it was asked for that; by the clock of the process. */
  toldAt: number;
  /** Counted here, and not by Redis (yet). */
  uncounted: number;
  /** Whether Redis was told when to forget the key. */
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
    readonly patienceMs = PATIENCE_MS,
  ) {}

  /** Counts one request. At once where the limit is known to be exceeded. */
  count(subject: string, limit: number): RateVerdict | Promise<RateVerdict> {
    const now = this.now();
    const window = this.#windowOf(subject, now);
    // Beyond the limit more counting tells nothing; this is what a flood costs.
    if (window.counted >= limit) return verdictOf(window.counted + 1, limit, now);
    const isFar =
      window.counted + window.uncounted < limit * FAR && performance.now() - window.toldAt < FRESH_MS;
    const group = this.#groupOf(subject, window, isFar);
    const place = ++group.size;
    window.uncounted++;
    if (isFar) return verdictOf(window.counted + window.uncounted, limit, now);
    return group.before.then((before) => verdictOf(before + place, limit, now));
  }

  /** Counted in Redis soon where nobody waits for it, else at the end of this turn. */
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

  /** What the headers say of a subject that is not counted now. */
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
      window = { minute, counted: 0, toldAt: -Infinity, uncounted: 0, expires: false };
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

  /** One timer for all groups, and none while there is nothing to look after. */
  #lookLater(): void {
    if (this.#looking) return;
    this.#looking = true;
    this.#timer ??= setTimeout(() => {
      this.#looking = false;
      const before = performance.now() - this.patienceMs;
      for (const group of this.#asked) if (group.askedAt <= before) countAlone(group);
      if (this.#asked.size > 0) this.#lookLater();
    }, this.patienceMs);
    this.#timer.refresh();
  }

  async #countInRedis(group: Group): Promise<void> {
    const { subject, window, size } = group;
    const key = this.keys.rateLimit(subject, window.minute);
    try {
      const counting = this.redis.incrBy(key, size);
      if (!window.expires) {
        window.expires = true;
        // In the same write as the count: no crash can leave a key that is never forgotten.
        this.redis.expire(key, KEY_TTL_SECONDS).catch(() => (window.expires = false));
      }
      const total = await counting;
      window.uncounted -= size;
      window.counted = Math.max(window.counted, total);
      window.toldAt = Math.max(window.toldAt, group.askedAt);
      // After a loss of its data Redis knows less than this process.
      group.settle(Math.max(total - size, group.known));
    } catch {
      countAlone(group);
    }
  }
}

function newGroup(subject: string, window: Window): Group {
  let settle!: (before: number) => void;
  const before = new Promise<number>((resolve) => (settle = resolve));
  return { subject, window, size: 0, known: window.counted + window.uncounted, askedAt: 0, settle, before };
}

/** A promise settles once: an answer that comes after this changes what is known, not what was decided. */
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

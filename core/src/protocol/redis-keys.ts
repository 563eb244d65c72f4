import type { InstanceState } from '../states.js';

/**
 * All Redis keys of gwk. The keys and channels of an instance share the prefix `instance(id)`, and the Redis user of an
 * engine can access nothing else.
 *
 * Redis holds no state that Postgres does not have: losing a key delays messages, but never loses them.
 */
export class RedisKeys {
  readonly #prefix: string;

  /** @param prefix including its separator, for example `gwk:` */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Prefix of all keys and channels of an instance (UUID). */
  instance(id: string): string {
    return `${this.#prefix}i:${id}:`;
  }
  /**
   * Stream of notifications about queued messages. Field `m` is the UUID of a message. Field `t`, with tracing, has the
   * W3C traceparents of its parent spans, separated by commas.
   */
  sends(id: string): string {
    return `${this.instance(id)}sends`;
  }
  /** Stream of commands (protocol/commands.ts). */
  commands(id: string): string {
    return `${this.instance(id)}commands`;
  }
  /** Channel for the replies to the commands of one API process. */
  replies(id: string, requester: string): string {
    return `${this.instance(id)}replies:${requester}`;
  }
  /** Pattern of the reply channels of one API process. */
  repliesPattern(requester: string): string {
    return `${this.#prefix}i:*:replies:${requester}`;
  }
  /** Heartbeat of the engine, with an expiry: the source of availability without Prometheus. */
  heartbeat(id: string): string {
    return `${this.instance(id)}heartbeat`;
  }
  /** Number of requests of an API key or address in one minute. */
  rateLimit(subject: string, minute: number): string {
    return `${this.#prefix}rate:${subject}:${minute}`;
  }
  /** Written at times to check that Redis accepts writes. */
  get probe(): string {
    return `${this.#prefix}probe`;
  }
  /** Name of the Redis user of an instance's engine. */
  engineUser(id: string): string {
    return `${this.#prefix}engine-${id}`;
  }
}

/** Consumer group of engines on their streams. The consumer name is the epoch. */
export const ENGINE_GROUP = 'engine';
/** Notifications need no history, because engines claim from Postgres. Bounds the stream while an engine is offline. */
export const SENDS_MAXLEN = 1_000;
export const COMMANDS_MAXLEN = 1_000;

/**
 * JSON that an engine writes to its heartbeat key in Redis, with an expiry. The key proves that the engine is running.
 * A missing key proves nothing if Redis was unavailable.
 */
export interface Heartbeat {
  epoch: number;
  pod: string;
  state: InstanceState;
  /** When the state began, ISO 8601. */
  since: string;
  /** When the heartbeat was written, ISO 8601. */
  at: string;
}

/** The engine writes the heartbeat at each lease renewal and state change. It expires after three renewal intervals. */
export const HEARTBEAT_TTL_RENEWALS = 3;

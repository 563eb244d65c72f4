/**
 * All Redis keys of gwk. The Redis user of an engine can access `engineKeys` and `engineChannels` only.
 *
 * Redis holds no state that Postgres does not have: losing a key delays messages, but never loses them.
 */
export class RedisKeys {
  readonly #prefix: string;

  /** @param prefix including its separator, for example `gwk:` */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Prefix of the keys and channels of an instance (UUID). */
  instance(id: string): string {
    return `${this.#prefix}i:${id}:`;
  }
  /**
   * Stream of notifications about queued messages. Field `m` is the UUID of a message. Field `t`, with tracing, has the
   * W3C traceparents of its parent spans, separated by commas. Field `n` has all messages that the notification is about
   * (notified-messages.ts); without it they must be claimed.
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
  /** When the engine of a lease was last alive, in ms since 1970, with an expiry. */
  alive(id: string, epoch: number): string {
    return `${this.instance(id)}alive:${epoch}`;
  }
  /** When the engine of a lease was last connected, in the same form. */
  connected(id: string, epoch: number): string {
    return `${this.instance(id)}connected:${epoch}`;
  }
  /** All keys that the engine of a lease uses. */
  engineKeys(id: string, epoch: number): string[] {
    return [this.sends(id), this.commands(id), this.alive(id, epoch), this.connected(id, epoch)];
  }
  /** Pattern of the channels that the engine of an instance uses. */
  engineChannels(id: string): string {
    return this.replies(id, '*');
  }
  /** Number of requests of an API key or address in one minute. */
  rateLimit(subject: string, minute: number): string {
    return `${this.#prefix}rate:${subject}:${minute}`;
  }
  /** Sorted set of the running programs, scored by the time in ms since 1970 at which they were seen. */
  get programs(): string {
    return `${this.#prefix}programs`;
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

/** Notifications need no history, because engines claim from Postgres. Bounds the stream while an engine is offline. */
export const SENDS_MAXLEN = 1_000;
/** A longer stream gets notifications without messages: the engine is offline or busy. */
export const SENDS_WITH_MESSAGES_MAXLEN = 32;
export const COMMANDS_MAXLEN = 1_000;

/**
 * Heartbeat of an engine, the source of availability without Prometheus. It proves that the engine was running. A
 * missing one proves nothing if Redis was unavailable.
 */
export interface Heartbeat {
  alive: Date;
  /** Null: not known; an earlier value stays valid. */
  connected: Date | null;
}

/** The engine writes the heartbeat at each lease renewal and state change. It expires after three renewal intervals. */
export const HEARTBEAT_TTL_RENEWALS = 3;

/**
 * Every Redis key of gwk, in one place. An engine's Redis user may touch the keys and channels of `instance(id)`
 * and no others, so all that concerns one instance stands under one prefix.
 *
 * Redis routes and Postgres remembers: the loss of any of these keys delays and never loses.
 */
export class RedisKeys {
  readonly #prefix: string;

  /** @param prefix ends with a separator, for example `gwk:` */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Prefix of all keys and channels of one instance (UUID). */
  instance(id: string): string {
    return `${this.#prefix}i:${id}:`;
  }
  /**
   * Stream of doorbell entries: field `m` is the UUID of a message that waits; `t`, where traces are kept, what their
   * spans go on from (W3C traceparent, separated by commas).
   */
  sends(id: string): string {
    return `${this.instance(id)}sends`;
  }
  /** Stream of commands (protocol/commands.ts). */
  commands(id: string): string {
    return `${this.instance(id)}commands`;
  }
  /** Channel on which an engine answers the commands of one API process. */
  replies(id: string, requester: string): string {
    return `${this.instance(id)}replies:${requester}`;
  }
  /** Pattern of the channels that one API process listens to. */
  repliesPattern(requester: string): string {
    return `${this.#prefix}i:*:replies:${requester}`;
  }
  /** Heartbeat of the engine, expiring: the availability collector's source where there is no Prometheus. */
  heartbeat(id: string): string {
    return `${this.instance(id)}heartbeat`;
  }
  /** Requests of a key (or address) in one minute. */
  rateLimit(subject: string, minute: number): string {
    return `${this.#prefix}rate:${subject}:${minute}`;
  }
  /** Written and forgotten, to see whether Redis takes writes. */
  get probe(): string {
    return `${this.#prefix}probe`;
  }
  /** Name of the Redis user of an instance's engine. */
  engineUser(id: string): string {
    return `${this.#prefix}engine-${id}`;
  }
}

/** Consumer group of engines on their streams; the consumer's name is the epoch. */
export const ENGINE_GROUP = 'engine';
/** A doorbell needs no history: claims read rows. Of a number whose engine is away this is what Redis holds. */
export const SENDS_MAXLEN = 1_000;
export const COMMANDS_MAXLEN = 1_000;

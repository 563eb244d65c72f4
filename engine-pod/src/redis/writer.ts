import { HEARTBEAT_TTL_RENEWALS, type Heartbeat } from '@gwk/core/protocol/heartbeat';
import { ENGINE_GROUP, type RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { RedisLink } from './reconnecting-link.js';

/** Bells that have been heard are put away together: nobody waits for it, and each command wakes two programs. */
const PUT_AWAY_EVERY_MS = 1_000;
const MOST_HEARD = 100;

export interface SideChannelOptions {
  instanceId: string;
  keys: RedisKeys;
  /** Answers at once: nothing blocks on it. */
  link: RedisLink;
  renewMs: number;
  heartbeat: () => Heartbeat;
}

/**
 * What an engine writes to Redis: heartbeats, and that bells have been heard. Losing any of it does no harm, so
 * nothing here waits or repeats.
 */
export class SideChannel {
  readonly #options: SideChannelOptions;
  #heard: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #putAway: NodeJS.Timeout | undefined;

  constructor(options: SideChannelOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    this.#timer = setInterval(() => this.beat(), this.#options.renewMs);
    await this.#options.link.run((connection) => {
      this.beat();
      return connection.closed;
    });
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#flush();
  }

  beat(): void {
    const { instanceId, keys, renewMs, heartbeat } = this.#options;
    const life = String(renewMs * HEARTBEAT_TTL_RENEWALS);
    this.#write(['SET', keys.heartbeat(instanceId), JSON.stringify(heartbeat()), 'PX', life]);
  }

  /**
   * Acknowledges and deletes entries of the doorbell's stream, a little later. Those that an engine leaves behind at its
   * end ring once more, at the next one, which finds nothing to claim for them.
   */
  putAway(entries: string[]): void {
    this.#heard.push(...entries);
    if (this.#heard.length >= MOST_HEARD) this.#flush();
    else this.#putAway ??= setTimeout(() => this.#flush(), PUT_AWAY_EVERY_MS).unref();
  }

  #flush(): void {
    clearTimeout(this.#putAway);
    this.#putAway = undefined;
    if (this.#heard.length === 0) return;
    const entries = this.#heard.splice(0);
    const stream = this.#options.keys.sends(this.#options.instanceId);
    this.#write(['XACK', stream, ENGINE_GROUP, ...entries]);
    this.#write(['XDEL', stream, ...entries]);
  }

  #write(words: string[]): void {
    this.#options.link.call(words).catch(() => undefined);
  }
}

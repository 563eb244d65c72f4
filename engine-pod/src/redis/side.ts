import { HEARTBEAT_LIFE_IN_RENEWALS, type Heartbeat } from '@gwk/core/protocol/heartbeat';
import { ENGINE_GROUP, type RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { RedisLink } from './link.js';

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
  }

  beat(): void {
    const { instanceId, keys, renewMs, heartbeat } = this.#options;
    const life = String(renewMs * HEARTBEAT_LIFE_IN_RENEWALS);
    this.#write(['SET', keys.heartbeat(instanceId), JSON.stringify(heartbeat()), 'PX', life]);
  }

  /** Acknowledges and deletes entries of the doorbell's stream; those of one turn of the event loop go together. */
  putAway(entries: string[]): void {
    if (this.#heard.length === 0) setImmediate(() => this.#flush());
    this.#heard.push(...entries);
  }

  #flush(): void {
    const entries = this.#heard.splice(0);
    const stream = this.#options.keys.sends(this.#options.instanceId);
    this.#write(['XACK', stream, ENGINE_GROUP, ...entries]);
    this.#write(['XDEL', stream, ...entries]);
  }

  #write(words: string[]): void {
    this.#options.link.call(words).catch(() => undefined);
  }
}

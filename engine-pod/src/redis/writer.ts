import { HEARTBEAT_TTL_RENEWALS, type Heartbeat } from '@gwk/core/protocol/heartbeat';
import { ENGINE_GROUP, type RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { ReconnectingLink } from './reconnecting-link.js';

/** Entries are acknowledged in batches. Nobody waits for it, and each command wakes two programs. */
const ACKNOWLEDGE_EVERY_MS = 1_000;
const MAX_UNACKNOWLEDGED = 100;

interface RedisWriterOptions {
  instanceId: string;
  keys: RedisKeys;
  /** Nothing blocks on this link. */
  link: ReconnectingLink;
  renewMs: number;
  heartbeat: () => Heartbeat;
}

/**
 * Writes heartbeats and acknowledgements to Redis. Losing any of them does no harm, so nothing here waits or
 * retries.
 */
export class RedisWriter {
  readonly #options: RedisWriterOptions;
  #unacknowledged: string[] = [];
  #heartbeatTimer: NodeJS.Timeout | undefined;
  #flushTimer: NodeJS.Timeout | undefined;

  constructor(options: RedisWriterOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    this.#heartbeatTimer = setInterval(() => this.sendHeartbeat(), this.#options.renewMs);
    await this.#options.link.run((connection) => {
      this.sendHeartbeat();
      return connection.closed;
    });
  }

  stop(): void {
    clearInterval(this.#heartbeatTimer);
    this.#flush();
  }

  sendHeartbeat(): void {
    const { instanceId, keys, renewMs, heartbeat } = this.#options;
    const life = String(renewMs * HEARTBEAT_TTL_RENEWALS);
    this.#write(['SET', keys.heartbeat(instanceId), JSON.stringify(heartbeat()), 'PX', life]);
  }

  /**
   * Acknowledges and deletes notification entries after a short delay. Entries left behind at the end notify the
   * next engine, which finds nothing to claim for them.
   */
  acknowledge(entries: string[]): void {
    this.#unacknowledged.push(...entries);
    if (this.#unacknowledged.length >= MAX_UNACKNOWLEDGED) this.#flush();
    else this.#flushTimer ??= setTimeout(() => this.#flush(), ACKNOWLEDGE_EVERY_MS).unref();
  }

  #flush(): void {
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    if (this.#unacknowledged.length === 0) return;
    const entries = this.#unacknowledged.splice(0);
    const stream = this.#options.keys.sends(this.#options.instanceId);
    this.#write(['XACK', stream, ENGINE_GROUP, ...entries]);
    this.#write(['XDEL', stream, ...entries]);
  }

  #write(words: string[]): void {
    this.#options.link.call(words).catch(() => undefined);
  }
}

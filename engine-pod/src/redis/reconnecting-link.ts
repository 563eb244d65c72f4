import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gwk/core/process/log';
import { backoffDelay } from '@gwk/core/async/backoff';
import { RedisConnection, RedisDisconnected, type RedisAddress } from './connection.js';
import { RedisErrorReply, type Reply } from './resp.js';

/** Error codes that mean that Redis lost this engine's user, its password or its permissions. */
const USER_LOST = new Set(['WRONGPASS', 'NOAUTH', 'NOPERM']);

const RETRY = { firstMs: 200, maxMs: 5_000 };

/** A connection that lasted this long resets the count of failures. */
const STEADY_MS = 10_000;

interface LinkOptions {
  address: RedisAddress;
  /** Restores the user. Several links may ask at once. */
  restoreUser: () => Promise<void>;
  log: Logger;
}

/**
 * Keeps a connection to Redis until stopped: opens it, runs `work` until it ends or fails, waits, opens it again.
 * Redis only makes the engine faster, so no failure here is final.
 */
export class ReconnectingLink {
  readonly #options: LinkOptions;
  readonly #stopped = new AbortController();
  #connection: RedisConnection | undefined;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  get up(): boolean {
    return this.#connection !== undefined;
  }

  /** @throws RedisDisconnected, RedisErrorReply */
  async call(words: readonly string[], timeoutMs?: number): Promise<Reply> {
    if (!this.#connection) throw new RedisDisconnected('not connected to Redis');
    return this.#connection.call(words, timeoutMs);
  }

  /** @param work run again with a new connection whenever it throws, returns, or its connection closes */
  async run(work: (connection: RedisConnection) => Promise<void>): Promise<void> {
    const { signal } = this.#stopped;
    for (let failures = 0; !signal.aborted;) {
      const openedAt = performance.now();
      try {
        this.#connection = await RedisConnection.open(this.#options.address);
        if (signal.aborted) break;
        if (failures > 0) this.#options.log.info('reconnected to Redis');
        await Promise.race([work(this.#connection), this.#connection.closed]);
      } catch (error) {
        await this.#restoreIfLost(error);
      }
      this.#drop();
      failures = performance.now() - openedAt > STEADY_MS ? 1 : failures + 1;
      if (failures === 1 && !signal.aborted) this.#options.log.warn('not connected to Redis');
      await sleep(backoffDelay(RETRY, failures), undefined, { signal }).catch(() => undefined);
    }
    this.#drop();
  }

  stop(): void {
    this.#stopped.abort();
    this.#drop();
  }

  #drop(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  async #restoreIfLost(error: unknown): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    if (!(error instanceof RedisDisconnected))
      this.#options.log.warn({ err: error }, 'Redis returned an error');
    if (!(error instanceof RedisErrorReply) || !USER_LOST.has(error.code)) return;
    try {
      await this.#options.restoreUser();
    } catch (cause) {
      this.#options.log.warn({ err: cause }, 'the Redis user could not be restored');
    }
  }
}

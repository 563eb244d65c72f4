import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@gwk/core/log';
import { backoffDelay } from '../backoff.js';
import { RedisConnection, RedisDisconnected, type RedisAddress } from './connection.js';
import { RedisErrorReply, type Reply } from './resp.js';

/** What Redis says when it has forgotten this engine's user, or its password, or what the user may do. */
const USER_LOST = new Set(['WRONGPASS', 'NOAUTH', 'NOPERM']);

const RETRY = { first: 200, most: 5_000 };

/** A connection that lasted this long ends a row of failures. */
const STEADY_MS = 10_000;

export interface LinkOptions {
  address: RedisAddress;
  /** Has the user made again; several links may ask at once. */
  restoreUser: () => Promise<void>;
  log: Logger;
}

/**
 * Keeps a connection to Redis for as long as it is not stopped: opens, lets `work` use it until it ends or fails,
 * waits, opens again. Nothing depends on Redis but speed, so nothing here ever fails for good.
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

  /** @throws RedisGone, RedisRefusal */
  async call(words: readonly string[], timeoutMs?: number): Promise<Reply> {
    if (!this.#connection) throw new RedisDisconnected('not connected to Redis');
    return this.#connection.call(words, timeoutMs);
  }

  /** @param work whenever it throws, returns, or its connection closes, another connection is made for it */
  async run(work: (connection: RedisConnection) => Promise<void>): Promise<void> {
    for (let failures = 0; !this.#stopped.signal.aborted;) {
      const openedAt = performance.now();
      try {
        this.#connection = await RedisConnection.open(this.#options.address);
        if (this.#stopped.signal.aborted) break;
        if (failures > 0) this.#options.log.info('connected to Redis again');
        await Promise.race([work(this.#connection), this.#connection.closed]);
      } catch (error) {
        await this.#restoreIfLost(error);
      }
      this.#drop();
      failures = performance.now() - openedAt > STEADY_MS ? 1 : failures + 1;
      await this.#pause(failures);
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
    if (!(error instanceof RedisDisconnected)) this.#options.log.warn({ err: error }, 'Redis refused');
    if (!(error instanceof RedisErrorReply) || !USER_LOST.has(error.code)) return;
    try {
      await this.#options.restoreUser();
    } catch (cause) {
      this.#options.log.warn({ err: cause }, 'the Redis user could not be had again');
    }
  }

  async #pause(failures: number): Promise<void> {
    if (failures === 1 && !this.#stopped.signal.aborted) this.#options.log.warn('not connected to Redis');
    try {
      await sleep(backoffDelay(RETRY, failures), undefined, { signal: this.#stopped.signal });
    } catch {
      return; // stopped
    }
  }
}

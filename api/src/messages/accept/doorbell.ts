import type { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { SENDS_MAXLEN } from '@gwk/core/protocol/redis-keys';
import type { Redis } from '../../redis.js';

/**
 * Tells engines that something waits. The rows are the queue: a bell that is not heard delays and never loses, so
 * nothing here fails, and nothing waits for Redis longer than a moment.
 */
const PATIENCE_MS = 250;
const TRIM = { TRIM: { strategy: 'MAXLEN', strategyModifier: '~', threshold: SENDS_MAXLEN } } as const;

export interface Ring {
  instanceId: string;
  messageId: string;
  /** Of the spans that ring; most have none. */
  traceparents?: readonly string[];
}

export class Doorbell {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;

  constructor(redis: Redis, keys: RedisKeys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** Settled once Redis has all of them, or will not have them soon. */
  ring(rings: readonly Ring[]): Promise<void> {
    if (rings.length === 0 || !this.#redis.isReady) return Promise.resolve();
    const added = rings.map(({ instanceId, messageId, traceparents = [] }) => {
      const fields = { m: messageId, ...(traceparents.length > 0 && { t: traceparents.join(',') }) };
      return this.#redis.xAdd(this.#keys.sends(instanceId), '*', fields, TRIM);
    });
    return new Promise((resolve) => {
      const late = setTimeout(resolve, PATIENCE_MS);
      void Promise.allSettled(added).then(() => {
        clearTimeout(late);
        resolve();
      });
    });
  }
}

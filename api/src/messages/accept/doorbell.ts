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
}

export class Doorbell {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;

  constructor(redis: Redis, keys: RedisKeys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** Settled once Redis has all of them, or will not have them soon. */
  async ring(rings: readonly Ring[]): Promise<void> {
    if (rings.length === 0 || !this.#redis.isReady) return;
    const added = rings.map(({ instanceId, messageId }) =>
      this.#redis.xAdd(this.#keys.sends(instanceId), '*', { m: messageId }, TRIM),
    );
    // A plain timer: to abort one that is awaited costs an exception for every group.
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, PATIENCE_MS)));
    await Promise.race([Promise.allSettled(added), patience]);
    clearTimeout(timer);
  }
}

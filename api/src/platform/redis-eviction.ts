import type { Logger } from '@gwk/core/log';
import type { Redis } from './redis.js';

/**
 * Warns at each connection to a Redis that evicts keys: it removes notifications, commands and heartbeats. No message is
 * lost, because Postgres stores them all, but messages wait for the next poll, and commands get no answer.
 */
export type Eviction = 'none' | 'evicts' | 'unknown';

/** @param info section `memory` of INFO; some services omit it */
export function parseEviction(info: string): { eviction: Eviction; policy: string | null } {
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? null;
  if (policy === null) return { eviction: 'unknown', policy };
  return { eviction: policy === 'noeviction' ? 'none' : 'evicts', policy };
}

/** Checks after each connect. */
export function watchEviction(redis: Redis, log: Logger): void {
  const look = async (): Promise<void> => {
    const { eviction, policy } = parseEviction(await redis.info('memory'));
    if (eviction === 'evicts') {
      log.warn(
        { maxmemory_policy: policy },
        'this Redis may evict keys of the gateway: set maxmemory-policy to noeviction (docs/operate.md)',
      );
    }
  };
  const begin = (): void => {
    // A service without INFO: nothing to warn about.
    look().catch(() => undefined);
  };
  if (redis.isReady) begin();
  redis.on('ready', begin);
}

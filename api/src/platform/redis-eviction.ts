import type { Logger } from '@gwk/core/log';
import type { Redis } from './redis.js';

/** @param info section `memory` of INFO; some services omit it */
export function parseEviction(info: string) {
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  const eviction = policy === undefined ? 'unknown' : policy === 'noeviction' ? 'none' : 'evicts';
  return { eviction, policy };
}

/**
 * Warns at each connection to a Redis that evicts keys: it removes notifications, commands and heartbeats. No message is
 * lost, because Postgres stores them all, but messages wait for the next poll, and commands get no answer.
 */
export function watchEviction(redis: Redis, log: Logger): void {
  const check = async (): Promise<void> => {
    // A service without INFO: nothing to warn about.
    const { eviction, policy } = parseEviction(await redis.info('memory').catch(() => ''));
    if (eviction === 'evicts') {
      log.warn(
        { maxmemory_policy: policy },
        'this Redis may evict keys of the gateway: set maxmemory-policy to noeviction (docs/operate.md)',
      );
    }
  };
  if (redis.isReady) void check();
  redis.on('ready', () => void check());
}

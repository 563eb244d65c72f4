import type { Logger } from '@gwk/core/log';
import type { Redis } from './redis.js';

/**
 * A Redis that evicts throws away what engines wait for: bells, commands, heartbeats. Nothing is lost by it, because
 * nothing is true in Redis alone; but messages wait until somebody looks, and commands get no answer. So it is said at
 * each connection, and nothing is refused: to change it is a matter of Redis alone.
 */
export type Eviction = 'none' | 'evicts' | 'unknown';

/** @param info the section `memory` of INFO; services without it say nothing */
export function evictionOf(info: string): { eviction: Eviction; policy: string | null } {
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? null;
  if (policy === null) return { eviction: 'unknown', policy };
  return { eviction: policy === 'noeviction' ? 'none' : 'evicts', policy };
}

/** Looks each time a connection stands, the first one included. */
export function watchEviction(redis: Redis, log: Logger): void {
  const look = async (): Promise<void> => {
    const { eviction, policy } = evictionOf(await redis.info('memory'));
    if (eviction === 'evicts') {
      log.warn(
        { maxmemory_policy: policy },
        'this Redis may evict keys of the gateway: set maxmemory-policy to noeviction (docs/operate.md)',
      );
    }
  };
  const begin = (): void => {
    // A Redis that does not tell is none to complain about.
    look().catch(() => undefined);
  };
  if (redis.isReady) begin();
  redis.on('ready', begin);
}

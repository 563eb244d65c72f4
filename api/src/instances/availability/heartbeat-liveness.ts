import type { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { Redis } from '../../platform/redis.js';
import type { Liveness, LivenessSource } from './liveness-source.js';

/**
 * Liveness from the heartbeats in Redis. A heartbeat expires before the engine's lease, so it is read as soon as an engine is
 * suspected and cached until it no longer is.
 */
export function heartbeatLiveness(redis: Redis, keys: RedisKeys): LivenessSource {
  let seen = new Map<string, Liveness & { epoch: number }>();
  return {
    name: 'heartbeats',
    async read(suspects) {
      const before = seen;
      seen = new Map();
      for (const { instanceId, epoch } of suspects) {
        const known = before.get(instanceId);
        if (known?.epoch === epoch) seen.set(instanceId, known);
      }
      if (suspects.length === 0) return seen;
      // A lost connection shows as a failed command.
      const times = await redis.mGet(
        suspects.flatMap(({ instanceId, epoch }) => [
          keys.alive(instanceId, epoch),
          keys.connected(instanceId, epoch),
        ]),
      );
      for (const [index, { instanceId, epoch }] of suspects.entries()) {
        const [alive, connected] = times.slice(2 * index, 2 * index + 2).map(readTime);
        if (!alive) continue;
        seen.set(instanceId, {
          epoch,
          alive,
          connected: connected ?? seen.get(instanceId)?.connected ?? null,
        });
      }
      return seen;
    },
  };
}

/** Engines write these keys themselves, so values are validated; invalid ones are ignored. */
function readTime(text: string | null): Date | null {
  const time = new Date(Number(text ?? Number.NaN));
  return Number.isNaN(time.getTime()) ? null : time;
}

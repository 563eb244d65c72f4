import type { Heartbeat, RedisKeys } from '@gwk/core/protocol/redis-keys';
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
      const texts = await redis.mGet(suspects.map(({ instanceId }) => keys.heartbeat(instanceId)));
      for (const [index, { instanceId, epoch }] of suspects.entries()) {
        const beat = readHeartbeat(texts[index] ?? '');
        if (beat?.epoch !== epoch) continue;
        const connected = connectedUntil(beat) ?? seen.get(instanceId)?.connected ?? null;
        seen.set(instanceId, { epoch, alive: new Date(beat.at), connected });
      }
      return seen;
    },
  };
}

/** An engine that reports another state was connected until then, unless an earlier offline state came before it. */
function connectedUntil({ state, at, since }: Heartbeat): Date | null {
  if (state === 'connected') return new Date(at);
  return state === 'disconnected' ? new Date(since) : null;
}

/** Engines write these keys themselves, so values are validated; invalid ones are ignored. */
function readHeartbeat(text: string): Heartbeat | null {
  try {
    const beat = JSON.parse(text) as Partial<Heartbeat> | null;
    const times = [beat?.at, beat?.since].map((time) => Date.parse(time ?? ''));
    return times.some(Number.isNaN) ? null : (beat as Heartbeat);
  } catch {
    return null;
  }
}

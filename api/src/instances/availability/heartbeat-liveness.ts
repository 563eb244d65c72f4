import type { Heartbeat } from '@gwk/core/protocol/heartbeat';
import type { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { Redis } from '../../platform/redis.js';
import type { Liveness, LivenessSource, Suspect } from './liveness-source.js';

/**
 * Liveness from the heartbeats in Redis. A heartbeat expires before the engine's lease, so it is read as soon as an engine is
 * suspected and cached until it no longer is.
 */
export class HeartbeatLiveness implements LivenessSource {
  readonly name = 'heartbeats';
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  #seen = new Map<string, Liveness & { epoch: number }>();

  constructor(redis: Redis, keys: RedisKeys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  async read(suspects: readonly Suspect[]): Promise<ReadonlyMap<string, Liveness>> {
    const before = this.#seen;
    this.#seen = new Map(
      suspects.flatMap(({ instanceId, epoch }) => {
        const known = before.get(instanceId);
        return known?.epoch === epoch ? [[instanceId, known]] : [];
      }),
    );
    if (suspects.length === 0) return this.#seen;
    // A lost connection shows as a failed command.
    const texts = await this.#redis.mGet(suspects.map(({ instanceId }) => this.#keys.heartbeat(instanceId)));
    texts.forEach((text, index) => this.#note(suspects[index]!, text === null ? null : readHeartbeat(text)));
    return this.#seen;
  }

  #note({ instanceId, epoch }: Suspect, beat: Heartbeat | null): void {
    if (beat?.epoch !== epoch) return;
    const alive = new Date(beat.at);
    const known = this.#seen.get(instanceId)?.connected ?? null;
    this.#seen.set(instanceId, { epoch, alive, connected: connectedUntil(beat) ?? known });
  }
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

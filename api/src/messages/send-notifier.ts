import { createHash } from 'node:crypto';
import { processClock, type Clock } from '@gwk/core/clock';
import type { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { SENDS_MAXLEN } from '@gwk/core/protocol/redis-keys';
import type { Redis } from '../platform/redis.js';

/**
 * Tells engines that something waits. The rows are the queue: a bell that is not heard delays and never loses, so
 * nothing here fails, and whoever waits for Redis does so for a moment at most. Accepting does not wait.
 */
const PATIENCE_MS = 250;
/**
 * So long after a bell the instance is not rung again, and then once for all that came meanwhile: its engine claims
 * whatever waits. Under load each group would ring each busy instance.
 */
const REST_MS = 10;
const MAX_KNOWN = 10_000;
/** Of a Redis that is there and does not answer no more is asked than so much at once: the others rest. */
const MAX_UNDER_WAY = 32;

/**
 * All bells of a group in one command: the client's work for a command is several times Redis's own for an XADD. Two
 * arguments for each stream, the message and the spans that ring ('' for none); what is wrong with one stream keeps
 * none of the others from being rung.
 */
const RING = `for place, stream in ipairs(KEYS) do
  local message, spans = ARGV[2 * place - 1], ARGV[2 * place]
  if spans == '' then
    redis.pcall('XADD', stream, 'MAXLEN', '~', ${SENDS_MAXLEN}, '*', 'm', message)
  else
    redis.pcall('XADD', stream, 'MAXLEN', '~', ${SENDS_MAXLEN}, '*', 'm', message, 't', spans)
  end
end`;
const RING_SHA = createHash('sha1').update(RING).digest('hex');

export interface Ring {
  instanceId: string;
  messageId: string;
  /** Of the spans that ring; most have none. */
  traceparents?: readonly string[];
}

export class Doorbell {
  readonly #redis: Redis;
  readonly #keys: RedisKeys;
  /** By instance: when it was rung last, and what it is to be rung for once it has rested. */
  readonly #rungAt = new Map<string, number>();
  readonly #resting = new Map<string, Ring>();
  #willWake = false;
  /** Commands that Redis has not answered. */
  #underWay = 0;

  readonly #clock: Clock;

  constructor(redis: Redis, keys: RedisKeys, clock: Clock = processClock) {
    this.#redis = redis;
    this.#keys = keys;
    this.#clock = clock;
  }

  /** Settled once Redis has those that are rung at once, or will not have them soon. */
  ring(rings: readonly Ring[]): Promise<void> {
    if (rings.length === 0 || !this.#redis.isReady) return Promise.resolve();
    const now = this.#clock.now();
    return this.#ringAll(rings.filter((ring) => !this.#rests(ring, now)));
  }

  #rests(ring: Ring, now: number): boolean {
    const { instanceId, traceparents = [] } = ring;
    const rungAt = this.#rungAt.get(instanceId) ?? -Infinity;
    // Spans end when their bell has been rung.
    if ((now - rungAt < REST_MS || this.#isBusy()) && traceparents.length === 0) {
      this.#resting.set(instanceId, ring);
      this.#wakeSoon();
      return true;
    }
    this.#resting.delete(instanceId);
    this.#remember(instanceId, now);
    return false;
  }

  #isBusy(): boolean {
    return this.#underWay >= MAX_UNDER_WAY;
  }

  #wakeSoon(): void {
    if (!this.#willWake) this.#clock.after(REST_MS, () => this.#wake());
    this.#willWake = true;
  }

  #wake(): void {
    this.#willWake = false;
    if (this.#isBusy()) return this.#wakeSoon();
    const rings = [...this.#resting.values()];
    this.#resting.clear();
    const now = this.#clock.now();
    for (const { instanceId } of rings) this.#remember(instanceId, now);
    if (this.#redis.isReady) void this.#ringAll(rings);
  }

  #remember(instanceId: string, now: number): void {
    if (this.#rungAt.size >= MAX_KNOWN) this.#rungAt.clear();
    this.#rungAt.set(instanceId, now);
  }

  #ringAll(rings: readonly Ring[]): Promise<void> {
    if (rings.length === 0) return Promise.resolve();
    this.#underWay++;
    const rung = this.#run({
      keys: rings.map(({ instanceId }) => this.#keys.sends(instanceId)),
      arguments: rings.flatMap(({ messageId, traceparents = [] }) => [messageId, traceparents.join(',')]),
    });
    return new Promise((resolve) => {
      const cancel = this.#clock.after(PATIENCE_MS, resolve);
      const settled = (): void => {
        this.#underWay--;
        cancel();
        resolve();
      };
      rung.then(settled, settled);
    });
  }

  /** Redis forgets scripts when it starts again: then it is told this one once more. */
  async #run(given: { keys: string[]; arguments: string[] }): Promise<void> {
    try {
      await this.#redis.evalSha(RING_SHA, given);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      await this.#redis.eval(RING, given);
    }
  }
}

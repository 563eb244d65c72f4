import type { Logger } from '@gwk/core/log';
import { MANIFEST_API_VERSION } from '@gwk/core/resources/manifest';
import { randomBytes } from 'node:crypto';
import type { InstanceEvent, Target } from '../cluster.js';
import { PATCH_TYPES, type KubeClient } from './client.js';
import { MANAGED_BY, parseKey } from './names.js';

interface Told {
  namespace: string;
  event: string;
  count: number;
  at: number;
}

/** The same thing again within this time is counted on its event. */
const TOGETHER_MS = 600_000;
const MAX_REMEMBERED = 5000;
const LANES = 8;
/** More lines than these at once are not told: the conditions say what is so. */
const MAX_WAITING = 5000;

/** Events of Instances, as `kubectl describe` shows them. Telling delays nothing and breaks nothing. */
export class EventRecorder {
  readonly #client: KubeClient;
  readonly #log: Logger;
  readonly #told = new Map<string, Told>();
  #waiting = 0;
  #closed = false;
  readonly #lanes: Promise<void>[] = Array.from({ length: LANES }, () => Promise.resolve());

  constructor(client: KubeClient, log: Logger) {
    this.#client = client;
    this.#log = log;
  }

  tell(target: Target, line: InstanceEvent): void {
    if (this.#waiting >= MAX_WAITING) return;
    this.#waiting++;
    // One instance, one lane: its story is told in order.
    const lane = parseInt(target.uid.slice(0, 4), 16) % LANES || 0;
    const telling = (this.#lanes[lane] ?? Promise.resolve()).then(() => this.#write(target, line));
    this.#lanes[lane] = telling
      .catch((error: unknown) =>
        this.#log.debug({ instance: target.key, err: error }, 'an event was not written'),
      )
      .finally(() => this.#waiting--);
  }

  /** What is being written is finished; what waits is given up, since nobody waits for it. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#lanes);
  }

  async #write(target: Target, line: InstanceEvent): Promise<void> {
    if (this.#closed) return;
    const name = [target.uid, line.reason, line.message].join('\n');
    const before = this.#told.get(name);
    const now = Date.now();
    if (before && now - before.at < TOGETHER_MS) return this.#again(before, now);
    const { namespace, event } = await this.#first(target, line, now);
    this.#remember(name, { namespace, event, count: 1, at: now });
  }

  async #first(
    { key, uid }: Target,
    { type, reason, message }: InstanceEvent,
    now: number,
  ): Promise<{ namespace: string; event: string }> {
    const { namespace, name } = parseKey(key);
    const event = `${name}.${randomBytes(8).toString('hex')}`;
    const time = new Date(now).toISOString();
    await this.#client.call({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/events`,
      body: {
        metadata: { name: event, namespace },
        involvedObject: { apiVersion: MANIFEST_API_VERSION, kind: 'Instance', namespace, name, uid },
        type,
        reason,
        message: message.slice(0, 1024),
        count: 1,
        firstTimestamp: time,
        lastTimestamp: time,
        source: { component: MANAGED_BY },
        reportingComponent: MANAGED_BY,
        reportingInstance: '',
      },
    });
    return { namespace, event };
  }

  async #again(told: Told, now: number): Promise<void> {
    told.count++;
    told.at = now;
    await this.#client.call({
      method: 'PATCH',
      path: `/api/v1/namespaces/${told.namespace}/events/${told.event}`,
      type: PATCH_TYPES.merge,
      body: { count: told.count, lastTimestamp: new Date(now).toISOString() },
    });
  }

  #remember(name: string, told: Told): void {
    this.#told.set(name, told);
    const [oldest] = this.#told.keys();
    if (this.#told.size > MAX_REMEMBERED && oldest !== undefined) this.#told.delete(oldest);
  }
}

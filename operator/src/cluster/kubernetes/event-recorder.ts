import { CoreV1Api } from '@kubernetes/client-node';
import { ExpiringMap } from '@gwk/core/async/expiring-map';
import type { Logger } from '@gwk/core/process/log';
import { MANIFEST_API_VERSION } from '@gwk/core/resources/manifest';
import { randomBytes } from 'node:crypto';
import type { InstanceEvent, Target } from '../cluster.js';
import { PATCH, type KubeClient } from '@gwk/core/kubernetes/client';
import { MANAGED_BY, parseKey } from '@gwk/core/kubernetes/names';

/** An Event object already written. Repetitions increase its count. */
interface WrittenEvent {
  name: string;
  count: number;
}

/** A repetition within this time increases the count of the earlier Event. */
const AGGREGATION_MS = 600_000;
const MAX_REMEMBERED = 5000;
const QUEUES = 8;
/** More pending events than this are dropped: the conditions still show the state. */
const MAX_PENDING = 5000;

/** Writes Events of Instances for `kubectl describe`, in the background. A failed write has no other effect. */
export class EventRecorder {
  readonly #core: CoreV1Api;
  readonly #log: Logger;
  readonly #written = new ExpiringMap<WrittenEvent>({ max: MAX_REMEMBERED, ttlMs: AGGREGATION_MS });
  #pending = 0;
  #closed = false;
  readonly #queues: Promise<void>[] = Array.from({ length: QUEUES }, () => Promise.resolve());

  constructor(client: KubeClient, log: Logger) {
    this.#core = client.makeApiClient(CoreV1Api);
    this.#log = log;
  }

  event(target: Target, event: InstanceEvent): void {
    if (this.#pending >= MAX_PENDING) return;
    this.#pending++;
    // All events of an instance use one queue, which keeps their order.
    const index = parseInt(target.uid.slice(0, 4), 16) % QUEUES || 0;
    const writing = (this.#queues[index] ?? Promise.resolve()).then(() => this.#write(target, event));
    this.#queues[index] = writing
      .catch((error: unknown) => this.#log.debug({ instance: target.key, err: error }, 'event not written'))
      .finally(() => this.#pending--);
  }

  /** Completes the current writes and drops the pending events. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#queues);
  }

  async #write(target: Target, event: InstanceEvent): Promise<void> {
    if (this.#closed) return;
    const id = [target.uid, event.reason, event.message].join('\n');
    const written = this.#written.get(id);
    if (written) await this.#increaseCount(target, ++written.count, written.name);
    this.#written.set(id, written ?? { name: await this.#create(target, event), count: 1 });
  }

  async #create({ key, uid }: Target, { type, reason, message }: InstanceEvent): Promise<string> {
    const { namespace, name: instance } = parseKey(key);
    const name = `${instance}.${randomBytes(8).toString('hex')}`;
    const time = new Date();
    await this.#core.createNamespacedEvent({
      namespace,
      body: {
        metadata: { name, namespace },
        involvedObject: {
          apiVersion: MANIFEST_API_VERSION,
          kind: 'Instance',
          namespace,
          name: instance,
          uid,
        },
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
    return name;
  }

  async #increaseCount({ key }: Target, count: number, name: string): Promise<void> {
    const { namespace } = parseKey(key);
    const body = { count, lastTimestamp: new Date() };
    await this.#core.patchNamespacedEvent({ namespace, name, body }, PATCH.merge);
  }
}

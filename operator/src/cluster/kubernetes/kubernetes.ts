import {
  type InstanceResource,
  MANIFEST_API_VERSION,
  type InstanceResourceStatus,
} from '@gwk/core/resources/manifest';
import type { Logger } from '@gwk/core/log';
import type { PairingView } from '@gwk/core/resources/pairing-request';
import { readEngineChoice } from '../../controller/decide.js';
import type { Cluster, Pod, PodPlan, PodTemplate, InstanceEvent, Target } from '../cluster.js';
import { isCode, PATCH_TYPES, type KubeClient } from './client.js';
import { EnginePods } from './engine-pods.js';
import { FIELD_MANAGERS, parseKey } from './names.js';
import { publishPairing } from './pairing-secret.js';
import type { EngineSettings } from './pod-spec.js';
import type { Profiles } from './profiles.js';
import { readResource } from './read-resource.js';
import { EventRecorder } from './event-recorder.js';
import { Informer, type WatchTimes } from './informer.js';

interface KubernetesClusterOptions {
  client: KubeClient;
  /** Null: all namespaces. */
  namespaces: string[] | null;
  profiles: Profiles;
  settings: EngineSettings;
  log: Logger;
  watchTimes?: Partial<WatchTimes>;
}

const ROOT = `/apis/${MANIFEST_API_VERSION}`;
/** After this time without data from a watch, the cache may be stale. */
const STALE_MS = 180_000;

/** The cluster on Kubernetes: Instances are custom resources, engines are pods. */
export class KubernetesCluster implements Cluster {
  readonly pods: EnginePods;
  readonly #client: KubeClient;
  readonly #log: Logger;
  readonly #events: EventRecorder;
  readonly #instances: Informer<InstanceResource, InstanceResource>[];
  readonly #unreadable = new Set<string>();
  readonly #namespaces: (string | null)[];
  /**
   * Indexes of the namespaces whose Instances and pods were both listed. The operator does not act on a partly known
   * namespace.
   */
  readonly #served = new Set<number>();
  #onChange: (key: string) => void = () => undefined;

  constructor(options: KubernetesClusterOptions) {
    const { client, log, namespaces, watchTimes: times = {} } = options;
    this.#namespaces = namespaces ?? [null];
    this.#client = client;
    this.#log = log;
    this.#events = new EventRecorder(client, log);
    this.pods = new EnginePods(options);
    this.#instances = this.#namespaces.map(
      (namespace) =>
        new Informer<InstanceResource, InstanceResource>({
          client,
          log,
          times,
          path: namespace === null ? `${ROOT}/instances` : `${ROOT}/namespaces/${namespace}/instances`,
          transform: (raw) => this.#read(raw),
          onChange: (key) => this.#notifyChanged(key),
          onListed: () => this.#serveListedNamespaces(),
        }),
    );
  }

  /** For metrics: resources that this operator cannot read and therefore leaves as they are. */
  get unreadable(): number {
    return this.#unreadable.size;
  }

  get watches(): Informer<never, never>[] {
    return [...(this.#instances as unknown as Informer<never, never>[]), ...this.pods.watches];
  }

  /** A namespace without read access does not block the others. The operator serves it once it has access. */
  async start(onChange: (key: string) => void): Promise<void> {
    this.#onChange = onChange;
    const pods = this.pods.start(
      (key) => this.#notifyChanged(key),
      () => this.#serveListedNamespaces(),
    );
    await Promise.all([pods, ...this.#instances.map((watch) => watch.start())]);
  }

  /** Pods outlive their operator. */
  endPods(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await Promise.all([this.pods.stop(), ...this.#instances.map((watch) => watch.stop())]);
    await this.#events.close();
  }

  keys(): string[] {
    return this.#allKeys().filter((key) => this.#isServed(key));
  }

  resource(key: string): InstanceResource | undefined {
    return this.#findInformer(key)?.get(key);
  }

  pod(key: string): Pod {
    return this.pods.of(key);
  }

  templateFor(resource: InstanceResource): PodTemplate | null {
    return this.pods.templateFor(readEngineChoice(resource));
  }

  /** The uid in the patch prevents writes to another resource with the same name. */
  async setStatus(target: Target, status: InstanceResourceStatus): Promise<void> {
    const { namespace, name } = parseKey(target.key);
    const object = {
      apiVersion: MANIFEST_API_VERSION,
      kind: 'Instance',
      metadata: { name, uid: target.uid },
    };
    await this.#write(target.key, {
      method: 'PATCH',
      path: `${ROOT}/namespaces/${namespace}/instances/${name}/status`,
      query: { fieldManager: FIELD_MANAGERS.status, force: true },
      type: PATCH_TYPES.apply,
      body: { ...object, status: withoutNulls(status) },
    });
  }

  /** Keeps finalizers of others, whatever happens to them meanwhile. */
  async setFinalizers({ key, uid }: Target, finalizers: string[]): Promise<void> {
    const present = this.resource(key)?.metadata.finalizers ?? [];
    const added = finalizers.filter((name) => !present.includes(name));
    const removed = present.filter((name) => !finalizers.includes(name));
    const { namespace, name } = parseKey(key);
    const path = `${ROOT}/namespaces/${namespace}/instances/${name}`;
    if (added.length > 0) {
      const object = {
        apiVersion: MANIFEST_API_VERSION,
        kind: 'Instance',
        metadata: { name, uid, finalizers: added },
      };
      const query = { fieldManager: FIELD_MANAGERS.resource, force: true };
      await this.#write(key, { method: 'PATCH', path, query, type: PATCH_TYPES.apply, body: object });
    }
    for (const finalizer of removed) {
      const at = `/metadata/finalizers/${present.indexOf(finalizer)}`;
      const body = [
        { op: 'test', path: '/metadata/uid', value: uid },
        { op: 'test', path: at, value: finalizer },
        { op: 'remove', path: at },
      ];
      const query = { fieldManager: FIELD_MANAGERS.resource };
      await this.#write(key, { method: 'PATCH', path, query, type: PATCH_TYPES.json, body });
    }
  }

  async deleteResource({ key, uid }: Target): Promise<void> {
    const { namespace, name } = parseKey(key);
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } };
    const path = `${ROOT}/namespaces/${namespace}/instances/${name}`;
    await this.#client.call({ method: 'DELETE', path, body }).catch(ignoreGone);
  }

  newPodName(target: Target): string {
    return this.pods.newName(target);
  }

  createPod(plan: PodPlan): Promise<void> {
    return this.pods.create(plan);
  }

  deletePod(name: string): Promise<void> {
    return this.pods.delete(name);
  }

  forceDeletePod(name: string): Promise<void> {
    return this.pods.forceDelete(name);
  }

  publishPairing(target: Target, view: PairingView | null): Promise<void> {
    return publishPairing(this.#client, target, view);
  }

  recordEvent(target: Target, event: InstanceEvent): void {
    this.#events.event(target, event);
  }

  checks(): Record<string, string | null> {
    const allowed = this.watches.filter(({ forbidden }) => !forbidden);
    const oldest = Math.max(0, ...allowed.map(({ ageMs }) => ageMs));
    if (oldest > STALE_MS) return { kubernetes: 'no data from the Kubernetes API for 3 minutes' };
    // A single inaccessible namespace only shows in the log and in gwk_operator_watch_age_seconds.
    const none = this.#served.size === 0 || this.#instances.every(({ forbidden }) => forbidden);
    return { kubernetes: none ? 'no right to read any namespace' : null };
  }

  #allKeys(): string[] {
    return [...new Set([...this.#instances.flatMap((watch) => [...watch.names()]), ...this.pods.keys()])];
  }

  #isServed(key: string): boolean {
    const { namespace } = parseKey(key);
    const index = this.#namespaces[0] === null ? 0 : this.#namespaces.indexOf(namespace);
    return this.#served.has(index);
  }

  #notifyChanged(key: string): void {
    if (this.#isServed(key)) this.#onChange(key);
  }

  #serveListedNamespaces(): void {
    for (const [index, watch] of this.#instances.entries()) {
      if (this.#served.has(index) || !watch.listed || !this.pods.isListed(index)) continue;
      this.#served.add(index);
      const namespace = this.#namespaces[index];
      for (const key of this.#allKeys())
        if (namespace === null || parseKey(key).namespace === namespace) this.#onChange(key);
    }
  }

  async #write(key: string, call: Parameters<KubeClient['call']>[0]): Promise<void> {
    try {
      const raw = await this.#client.call<InstanceResource>(call);
      this.#findInformer(key)?.applyWrite(raw);
    } catch (error) {
      // 409: another resource with this name. 422: a `test` failed. The watch delivers the new state soon.
      if (!isCode(error, 404)) throw error;
    }
  }

  #findInformer(key: string): Informer<InstanceResource, InstanceResource> | undefined {
    const [only, ...more] = this.#instances;
    if (more.length === 0) return only;
    return this.#instances.find((watch) => watch.get(key) !== undefined);
  }

  #read(raw: InstanceResource): InstanceResource | null {
    const key = `${raw.metadata.namespace}/${raw.metadata.name}`;
    const { resource, faults } = readResource(raw, this.resource(key));
    if (faults === null) {
      this.#unreadable.delete(key);
      return resource;
    }
    this.#unreadable.add(key);
    this.#log.warn({ instance: key, faults }, 'unsupported resource; keeping its last known state');
    const message = `This operator does not support the resource and keeps its last known state: ${faults}`;
    this.recordEvent(
      { key, uid: raw.metadata.uid },
      { type: 'Warning', reason: 'UnsupportedResource', message },
    );
    return resource;
  }
}

/** 404: deleted. 409: replaced by another resource. */
function ignoreGone(error: unknown): void {
  if (!isCode(error, 404, 409)) throw error;
}

function withoutNulls(status: InstanceResourceStatus): unknown {
  return JSON.parse(JSON.stringify(status, (_, value: unknown) => value ?? undefined));
}

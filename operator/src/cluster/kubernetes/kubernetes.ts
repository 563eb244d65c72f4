import { CoreV1Api, CustomObjectsApi } from '@kubernetes/client-node';
import {
  FINALIZER,
  type InstanceResource,
  MANIFEST_API_VERSION,
  type InstanceResourceStatus,
} from '@gwk/core/resources/manifest';
import type { Logger } from '@gwk/core/process/log';
import {
  PAIRING_ANNOTATION,
  readPairingRequest,
  type PairingRequest,
  type PairingView,
} from '@gwk/core/resources/pairing-request';
import type { Cluster, InstanceEvent, Target } from '../cluster.js';
import { INSTANCES, isCode, isNotFound, PATCH } from '@gwk/core/kubernetes/client';
import { EnginePods, LIST_TIMEOUT_MS, type KubernetesClusterOptions } from './engine-pods.js';
import { FIELD_MANAGERS, parseKey } from '@gwk/core/kubernetes/names';
import { publishPairing } from './pairing-secret.js';
import { readResource } from './read-resource.js';
import { EventRecorder } from './event-recorder.js';
import { Informer, type Watching } from './informer.js';

const ROOT = `/apis/${MANIFEST_API_VERSION}`;
const OBJECT = { apiVersion: MANIFEST_API_VERSION, kind: 'Instance' };
/** After this time without data from a watch, the cache may be stale. */
const STALE_MS = 180_000;

/** The cluster on Kubernetes: Instances are custom resources, engines are pods. */
export class KubernetesCluster implements Cluster {
  readonly pods: EnginePods;
  readonly #core: CoreV1Api;
  readonly #objects: CustomObjectsApi;
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
  /** Namespaces in deletion, in which the operator may write no status. */
  readonly #closedNamespaces = new Set<string>();
  #onChange: (key: string) => void = () => undefined;

  constructor(options: KubernetesClusterOptions) {
    const { client, log, namespaces, watchTimes: times = {} } = options;
    this.#namespaces = namespaces ?? [null];
    this.#core = client.makeApiClient(CoreV1Api);
    this.#objects = client.makeApiClient(CustomObjectsApi);
    const lists = client.makeApiClient(CustomObjectsApi, LIST_TIMEOUT_MS);
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
          list: (page) =>
            namespace === null
              ? lists.listClusterCustomObject({ ...INSTANCES, ...page })
              : lists.listNamespacedCustomObject({ ...INSTANCES, namespace, ...page }),
          transform: (raw) => this.#read(raw),
          onChange: (key) => this.#notifyChanged(key),
          onListed: () => this.#serveListedNamespaces(),
        }),
    );
  }

  /** Resources that this operator cannot read, and therefore leaves as they are. */
  countInvalid(): number {
    return this.#unreadable.size;
  }

  get watches(): Watching[] {
    return [...this.#instances, ...this.pods.watches];
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

  /** The uid in the patch prevents writes to another resource with the same name. */
  async setStatus({ key, uid }: Target, status: InstanceResourceStatus): Promise<void> {
    const target = { ...INSTANCES, ...parseKey(key), fieldManager: FIELD_MANAGERS.status, force: true };
    const body = { ...OBJECT, metadata: { name: target.name, uid }, status: withoutNulls(status) };
    if (this.#isClosed({ key, uid })) return;
    try {
      const write = this.#objects.patchNamespacedCustomObjectStatus({ ...target, body }, PATCH.apply);
      await this.#write({ key, uid }, write);
      this.#closedNamespaces.delete(target.namespace);
    } catch (error) {
      if (!isCode(error, 403) || !this.#isDeleting(key)) throw error;
      this.#closeNamespace(target.namespace, error);
    }
  }

  #closeNamespace(namespace: string, error: unknown): void {
    if (this.#closedNamespaces.has(namespace)) return;
    this.#closedNamespaces.add(namespace);
    this.#log.warn({ namespace, err: error }, 'no right to write statuses; deleted instances keep theirs');
  }

  #isDeleting(key: string): boolean {
    return this.resource(key)?.metadata.deletionTimestamp !== undefined;
  }

  /** The deletion of a namespace takes the operator's role with it, and leaves only the right to remove finalizers. */
  #isClosed({ key }: Target): boolean {
    return this.#closedNamespaces.has(parseKey(key).namespace) && this.#isDeleting(key);
  }

  /** Keeps finalizers of others, whatever happens to them meanwhile. */
  async setFinalizer({ key, uid }: Target, isSet: boolean): Promise<void> {
    const target = { ...INSTANCES, ...parseKey(key), fieldManager: FIELD_MANAGERS.resource };
    if (isSet) {
      const body = { ...OBJECT, metadata: { name: target.name, uid, finalizers: [FINALIZER] } };
      const patch = { ...target, force: true, body };
      return this.#write({ key, uid }, this.#objects.patchNamespacedCustomObject(patch, PATCH.apply));
    }
    const index = this.resource(key)?.metadata.finalizers?.indexOf(FINALIZER) ?? -1;
    if (index === -1) return;
    const path = `/metadata/finalizers/${index}`;
    const body = [
      { op: 'test', path: '/metadata/uid', value: uid },
      { op: 'test', path, value: FINALIZER },
      { op: 'remove', path },
    ];
    await this.#write(
      { key, uid },
      this.#objects.patchNamespacedCustomObject({ ...target, body }, PATCH.json),
    );
  }

  async deleteResource({ key, uid }: Target): Promise<void> {
    const target = { ...INSTANCES, ...parseKey(key), body: { preconditions: { uid } } };
    await this.#objects.deleteNamespacedCustomObject(target).catch(ignoreGone);
  }

  publishPairing(target: Target, view: PairingView | null): Promise<void> {
    return publishPairing(this.#core, target, view);
  }

  async removePairingRequest({ key, uid }: Target, { id }: PairingRequest): Promise<void> {
    const { annotations = {} } = this.resource(key)?.metadata ?? {};
    if (readPairingRequest(annotations)?.id !== id) return;
    const target = { ...INSTANCES, ...parseKey(key), fieldManager: FIELD_MANAGERS.resource };
    const path = `/metadata/annotations/${PAIRING_ANNOTATION.replace('/', '~1')}`;
    const body = [
      { op: 'test', path: '/metadata/uid', value: uid },
      { op: 'test', path, value: annotations[PAIRING_ANNOTATION] },
      { op: 'remove', path },
    ];
    await this.#write(
      { key, uid },
      this.#objects.patchNamespacedCustomObject({ ...target, body }, PATCH.json),
    );
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

  async #write({ key, uid }: Target, call: Promise<unknown>): Promise<void> {
    try {
      this.#findInformer(key)?.applyWrite((await call) as InstanceResource);
    } catch (error) {
      // 409: another resource with this name. 422: a `test` failed. The watch delivers the new state soon.
      if (!isCode(error, 404)) throw error;
      if (isNotFound(error) && this.resource(key)?.metadata.uid === uid) this.#findInformer(key)?.forget(key);
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

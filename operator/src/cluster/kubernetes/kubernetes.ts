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

export interface KubernetesOptions {
  client: KubeClient;
  /** Null: all. */
  namespaces: string[] | null;
  profiles: Profiles;
  settings: EngineSettings;
  log: Logger;
  watchTimes?: Partial<WatchTimes>;
}

const ROOT = `/apis/${MANIFEST_API_VERSION}`;
/** So long without a word from a watch, and what is known may be old. */
const OLD_MS = 180_000;

/** Instances are resources of a Kubernetes API, engines are pods. */
export class KubernetesCluster implements Cluster {
  readonly pods: EnginePods;
  readonly #client: KubeClient;
  readonly #log: Logger;
  readonly #story: EventRecorder;
  readonly #instances: Informer<InstanceResource, InstanceResource>[];
  readonly #unreadable = new Set<string>();
  readonly #namespaces: (string | null)[];
  /** Of the namespaces, those whose Instances and pods were listed: what is known of others by halves is not acted on. */
  readonly #open = new Set<number>();
  #changed: (key: string) => void = () => undefined;

  constructor(options: KubernetesOptions) {
    const { client, log, namespaces, watchTimes: times = {} } = options;
    this.#namespaces = namespaces ?? [null];
    this.#client = client;
    this.#log = log;
    this.#story = new EventRecorder(client, log);
    this.pods = new EnginePods(options);
    this.#instances = this.#namespaces.map(
      (namespace) =>
        new Informer<InstanceResource, InstanceResource>({
          client,
          log,
          times,
          path: namespace === null ? `${ROOT}/instances` : `${ROOT}/namespaces/${namespace}/instances`,
          keep: (raw) => this.#read(raw),
          changed: (key) => this.#tellChanged(key),
          listed: () => this.#openUp(),
        }),
    );
  }

  /** For metrics: resources that this operator cannot read, which then stay as they are. */
  get unreadable(): number {
    return this.#unreadable.size;
  }

  get watches(): Informer<never, never>[] {
    return [...(this.#instances as unknown as Informer<never, never>[]), ...this.pods.watches];
  }

  /** A namespace whose rights are gone keeps no other from being served; it is served once they are back. */
  async start(changed: (key: string) => void): Promise<void> {
    this.#changed = changed;
    const pods = this.pods.start(
      (key) => this.#tellChanged(key),
      () => this.#openUp(),
    );
    await Promise.all([pods, ...this.#instances.map((watch) => watch.start())]);
  }

  /** Pods go on without their operator. */
  endPods(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await Promise.all([this.pods.stop(), ...this.#instances.map((watch) => watch.stop())]);
    await this.#story.close();
  }

  keys(): string[] {
    return this.#allKeys().filter((key) => this.#isOpen(key));
  }

  resource(key: string): InstanceResource | undefined {
    return this.#watchOf(key)?.get(key);
  }

  pod(key: string): Pod {
    return this.pods.of(key);
  }

  templateFor(resource: InstanceResource): PodTemplate | null {
    return this.pods.templateFor(readEngineChoice(resource));
  }

  /** The uid is part of what is applied: another resource of the same name is not written to. */
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

  /** Others' finalizers are left as they are, whatever becomes of them meanwhile. */
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
    await this.#client.call({ method: 'DELETE', path, body }).catch(unlessGone);
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

  tell(target: Target, line: InstanceEvent): void {
    this.#story.tell(target, line);
  }

  checks(): Record<string, string | null> {
    const heard = this.watches.filter(({ refused }) => !refused);
    const oldest = Math.max(0, ...heard.map(({ ageMs }) => ageMs));
    if (oldest > OLD_MS) return { kubernetes: 'the Kubernetes API has not been heard for minutes' };
    // One namespace whose rights somebody took away is for the log and gwk_operator_watch_age_seconds.
    const none = this.#open.size === 0 || this.#instances.every(({ refused }) => refused);
    return { kubernetes: none ? 'no namespace may be read' : null };
  }

  #allKeys(): string[] {
    return [...new Set([...this.#instances.flatMap((watch) => [...watch.names()]), ...this.pods.keys()])];
  }

  #isOpen(key: string): boolean {
    const { namespace } = parseKey(key);
    const index = this.#namespaces[0] === null ? 0 : this.#namespaces.indexOf(namespace);
    return this.#open.has(index);
  }

  #tellChanged(key: string): void {
    if (this.#isOpen(key)) this.#changed(key);
  }

  #openUp(): void {
    for (const [index, watch] of this.#instances.entries()) {
      if (this.#open.has(index) || !watch.listed || !this.pods.isListed(index)) continue;
      this.#open.add(index);
      const namespace = this.#namespaces[index];
      for (const key of this.#allKeys())
        if (namespace === null || parseKey(key).namespace === namespace) this.#changed(key);
    }
  }

  async #write(key: string, call: Parameters<KubeClient['call']>[0]): Promise<void> {
    try {
      const raw = await this.#client.call<InstanceResource>(call);
      this.#watchOf(key)?.written(raw);
    } catch (error) {
      // 409: another resource of this name; 422: what was tested for is not so. The watch is about to say so.
      if (!isCode(error, 404)) throw error;
    }
  }

  #watchOf(key: string): Informer<InstanceResource, InstanceResource> | undefined {
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
    this.#log.warn({ instance: key, faults }, 'a resource cannot be read');
    const message = `This operator does not understand it, and leaves it as it was: ${faults}`;
    this.tell({ key, uid: raw.metadata.uid }, { type: 'Warning', reason: 'NotUnderstood', message });
    return resource;
  }
}

/** 404: it is gone. 409: it is another one by now. */
function unlessGone(error: unknown): void {
  if (!isCode(error, 404, 409)) throw error;
}

function withoutNulls(status: InstanceResourceStatus): unknown {
  return JSON.parse(JSON.stringify(status, (_, value: unknown) => value ?? undefined));
}

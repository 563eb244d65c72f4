import {
  InstanceResource,
  MANIFEST_API_VERSION,
  type InstanceResourceStatus,
} from '@gwk/core/resources/manifest';
import type { Logger } from '@gwk/core/log';
import type { PairingView } from '@gwk/core/resources/pairing-wish';
import { choiceOf } from '../../controller/decide.js';
import type { Cluster, Pod, PodPlan, PodTemplate, StoryLine, Target } from '../cluster.js';
import { isCode, PATCH_TYPES, type KubeClient } from './client.js';
import { EnginePods } from './engine-pods.js';
import { FIELD_MANAGERS, placeOf } from './names.js';
import { showPairing } from './pairing-secret.js';
import type { EngineSettings } from './pod-spec.js';
import type { Profiles } from './profiles.js';
import { StoryTeller } from './story.js';
import { Watched, type WatchTimes } from './watched.js';

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
  readonly #story: StoryTeller;
  readonly #instances: Watched<InstanceResource, InstanceResource>[];
  readonly #unreadable = new Set<string>();
  #changed: (key: string) => void = () => undefined;

  constructor(options: KubernetesOptions) {
    const { client, log, namespaces, watchTimes: times = {} } = options;
    this.#client = client;
    this.#log = log;
    this.#story = new StoryTeller(client, log);
    this.pods = new EnginePods(options);
    this.#instances = (namespaces ?? [null]).map(
      (namespace) =>
        new Watched<InstanceResource, InstanceResource>({
          client,
          log,
          times,
          path: namespace === null ? `${ROOT}/instances` : `${ROOT}/namespaces/${namespace}/instances`,
          keep: (raw) => this.#read(raw),
          changed: (key) => this.#changed(key),
        }),
    );
  }

  /** For metrics: resources that this operator cannot read, which then stay as they are. */
  get unreadable(): number {
    return this.#unreadable.size;
  }

  get watches(): Watched<never, never>[] {
    return [...(this.#instances as unknown as Watched<never, never>[]), ...this.pods.watches];
  }

  async start(changed: (key: string) => void): Promise<void> {
    this.#changed = changed;
    await Promise.all([this.pods.start(changed), ...this.#instances.map((watch) => watch.start())]);
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
    return [...new Set([...this.#instances.flatMap((watch) => [...watch.names()]), ...this.pods.keys()])];
  }

  resource(key: string): InstanceResource | undefined {
    return this.#watchOf(key)?.get(key);
  }

  pod(key: string): Pod {
    return this.pods.of(key);
  }

  templateFor(resource: InstanceResource): PodTemplate | null {
    return this.pods.templateFor(choiceOf(resource));
  }

  /** The uid is part of what is applied: another resource of the same name is not written to. */
  async setStatus(target: Target, status: InstanceResourceStatus): Promise<void> {
    const { namespace, name } = placeOf(target.key);
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
    const { namespace, name } = placeOf(key);
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
    const { namespace, name } = placeOf(key);
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

  showPairing(target: Target, view: PairingView | null): Promise<void> {
    return showPairing(this.#client, target, view);
  }

  tell(target: Target, line: StoryLine): void {
    this.#story.tell(target, line);
  }

  checks(): Record<string, string | null> {
    const oldest = Math.max(...this.watches.map(({ ageMs }) => ageMs));
    const fault = oldest > OLD_MS ? 'the Kubernetes API has not been heard for minutes' : null;
    return { kubernetes: fault };
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

  #watchOf(key: string): Watched<InstanceResource, InstanceResource> | undefined {
    const [only, ...more] = this.#instances;
    if (more.length === 0) return only;
    return this.#instances.find((watch) => watch.get(key) !== undefined);
  }

  /** One written for a newer operator stays as this one last understood it. */
  #read(raw: InstanceResource): InstanceResource | null {
    const key = `${raw.metadata.namespace}/${raw.metadata.name}`;
    const result = InstanceResource.safeParse(raw);
    if (result.success) {
      this.#unreadable.delete(key);
      return result.data;
    }
    this.#unreadable.add(key);
    this.#log.warn({ instance: key, faults: result.error.issues.length }, 'a resource cannot be read');
    return this.resource(key) ?? null;
  }
}

/** 404: it is gone. 409: it is another one by now. */
function unlessGone(error: unknown): void {
  if (!isCode(error, 404, 409)) throw error;
}

function withoutNulls(status: InstanceResourceStatus): unknown {
  return JSON.parse(JSON.stringify(status, (_, value: unknown) => value ?? undefined));
}

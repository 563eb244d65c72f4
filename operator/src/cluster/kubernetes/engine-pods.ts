import { fromPublicId } from '@gwk/core/ids';
import type { Logger } from '@gwk/core/log';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { PodExists, type Pod, type PodPlan, type PodTemplate, type Target } from '../cluster.js';
import { isCode, KubeError, PATCH_TYPES, type KubeClient } from './client.js';
import { derivePod, readPod, type EnginePod, type RawPod } from './engine-pod.js';
import { ENGINE_SELECTOR, FIELD_MANAGERS, LABELS, MANAGED_BY, parseKey, buildPodName } from './names.js';
import { readNode, type NodeState, type RawNode } from './nodes.js';
import { buildPod, computeRevision, buildTokenSecret, type EngineSettings } from './pod-spec.js';
import type { Profile, Profiles } from './profiles.js';
import { Informer, type WatchTimes } from './informer.js';

interface EnginePodsOptions {
  client: KubeClient;
  /** Null: all namespaces. */
  namespaces: string[] | null;
  profiles: Profiles;
  settings: EngineSettings;
  log: Logger;
  watchTimes?: Partial<WatchTimes>;
}

/** Maximum wait until the cache shows a new pod. */
const CACHE_TIMEOUT_MS = 5000;
const CACHE_POLL_MS = 20;
const FORGOTTEN_MAX = 1000;
const NAME_BYTES = 5;

/**
 * Pods of engines. The pod name is the mutex: `create` creates a pod and never changes an existing one. A pod whose
 * container ended is remembered after its object is gone, until its exit was reported.
 */
export class EnginePods {
  readonly #options: EnginePodsOptions;
  readonly #client: KubeClient;
  readonly #pods: Informer<RawPod, EnginePod>[];
  readonly #nodes: Informer<RawNode, NodeState>;
  readonly #byKey = new Map<string, EnginePod>();
  readonly #byEngine = new Map<string, EnginePod>();
  /** Ended pods whose object is gone and whose exit is not reported yet. */
  readonly #endedWithoutObject = new Map<string, EnginePod>();
  /** Engines whose exit was reported before their object was gone. */
  readonly #forgotten = new Set<string>();
  readonly #revisions = new Map<string, string>();
  #onChange: (key: string) => void = () => undefined;
  #onListed: () => void = () => undefined;
  #mayWatchNodes = true;

  constructor(options: EnginePodsOptions) {
    this.#options = options;
    this.#client = options.client;
    const { client, log, watchTimes: times = {} } = options;
    this.#pods = (options.namespaces ?? [null]).map(
      (namespace) =>
        new Informer<RawPod, EnginePod>({
          client,
          log,
          times,
          path: namespace === null ? '/api/v1/pods' : `/api/v1/namespaces/${namespace}/pods`,
          labelSelector: ENGINE_SELECTOR,
          transform: (raw) => readPod(raw, (id) => fromPublicId('instance', id)),
          onChange: (_, before, after) => this.#podChanged(before, after),
          onListed: () => this.#onListed(),
        }),
    );
    this.#nodes = new Informer<RawNode, NodeState>({
      client,
      log,
      times,
      path: '/api/v1/nodes',
      transform: readNode,
      onChange: (name, before, after) => this.#nodeChanged(name, before, after),
    });
    for (const [name, profile] of Object.entries(options.profiles))
      this.#revisions.set(name, computeRevision(profile, options.settings));
  }

  get watches(): Informer<never, never>[] {
    return [...this.#pods, ...(this.#mayWatchNodes ? [this.#nodes] : [])] as unknown as Informer<
      never,
      never
    >[];
  }

  /** Whether the pods of the namespace at this index were listed. */
  isListed(index: number): boolean {
    return this.#pods[index]?.listed ?? false;
  }

  async start(onChange: (key: string) => void, onListed: () => void): Promise<void> {
    this.#onChange = onChange;
    this.#onListed = onListed;
    this.#mayWatchNodes = await this.#canReadNodes();
    await Promise.all(this.watches.map((watch) => watch.start()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.watches.map((watch) => watch.stop()));
  }

  keys(): string[] {
    return [...this.#byKey.keys(), ...this.#endedWithoutObject.keys()];
  }

  of(key: string): Pod {
    const pod = this.#byKey.get(key) ?? this.#endedWithoutObject.get(key);
    if (!pod) return { phase: 'absent' };
    const lost = pod.node !== null && (this.#nodes.get(pod.node)?.lost ?? false);
    return derivePod(pod, lost);
  }

  templateFor(choice: Omit<PodTemplate, 'revision'>): PodTemplate | null {
    const revision = this.#revisions.get(choice.profile);
    return revision === undefined ? null : { ...choice, revision };
  }

  newName({ key }: Target): string {
    return `${buildPodName(parseKey(key).name)}-${randomBytes(NAME_BYTES).toString('hex')}`;
  }

  /** @throws PodExists */
  async create(plan: PodPlan): Promise<void> {
    const present = this.#byKey.get(plan.key);
    if (present) throw new PodExists(present.podName);
    const profile = this.#profile(plan.template.profile);
    await this.#createSecret(plan);
    const podUid = await this.#createPod(plan, profile);
    await this.#setSecretOwner(plan, podUid);
    await this.#waitUntilCached(plan);
  }

  /** Asks the pod to end; forgets a pod that has ended. */
  async delete(engine: string): Promise<void> {
    const pod = this.#byEngine.get(engine);
    if (!pod) return;
    if (this.#endedWithoutObject.get(pod.key) === pod) {
      this.#endedWithoutObject.delete(pod.key);
      this.#byEngine.delete(engine);
      return this.#onChange(pod.key);
    }
    if (pod.end) this.#rememberForgotten(engine);
    await this.#delete(pod, {});
  }

  async forceDelete(engine: string): Promise<void> {
    const pod = this.#byEngine.get(engine);
    if (pod) await this.#delete(pod, { gracePeriodSeconds: 0 });
  }

  #profile(name: string): Profile {
    const profile = this.#options.profiles[name];
    if (!profile) throw new Error(`no engine profile ${name}`);
    return profile;
  }

  async #createSecret(plan: PodPlan): Promise<void> {
    await this.#client.call({
      method: 'POST',
      path: `/api/v1/namespaces/${parseKey(plan.key).namespace}/secrets`,
      query: { fieldManager: FIELD_MANAGERS.objects },
      body: buildTokenSecret(plan, this.#options.settings),
    });
  }

  /** Create instead of apply: apply would overwrite a foreign pod with this name. */
  async #createPod(plan: PodPlan, profile: Profile): Promise<string> {
    const { namespace } = parseKey(plan.key);
    const body = buildPod(plan, profile, this.#options.settings);
    const path = `/api/v1/namespaces/${namespace}/pods`;
    const query = { fieldManager: FIELD_MANAGERS.objects };
    try {
      const made = await this.#client.call<RawPod>({ method: 'POST', path, query, body });
      return made.metadata.uid;
    } catch (error) {
      // Keep the Secret after a call without an answer: the pod may exist and need it.
      if (error instanceof KubeError && error.code !== 0) await this.#removeSecret(plan);
      if (!isCode(error, 409)) throw error;
      throw await this.#describeConflict(plan);
    }
  }

  async #describeConflict({ key }: PodPlan): Promise<Error> {
    const { namespace, name } = parseKey(key);
    const podName = buildPodName(name);
    const path = `/api/v1/namespaces/${namespace}/pods/${podName}`;
    const { metadata } = await this.#client.call<RawPod>({ path });
    return new PodExists(podName, metadata.labels?.[LABELS.managedBy] !== MANAGED_BY);
  }

  /**
   * Garbage collection then deletes the Secret with its pod. If this fails, the Secret stays until its Instance is
   * deleted.
   */
  async #setSecretOwner(plan: PodPlan, podUid: string): Promise<void> {
    const { namespace, name } = parseKey(plan.key);
    const owner = { apiVersion: 'v1', kind: 'Pod', name: buildPodName(name), uid: podUid };
    await this.#client
      .call({
        method: 'PATCH',
        path: `/api/v1/namespaces/${namespace}/secrets/${plan.name}`,
        query: { fieldManager: FIELD_MANAGERS.objects },
        type: PATCH_TYPES.merge,
        body: { metadata: { ownerReferences: [owner] } },
      })
      .catch((error: unknown) =>
        this.#options.log.info({ secret: plan.name, err: error }, 'owner of an engine secret not set'),
      );
  }

  async #removeSecret(plan: PodPlan): Promise<void> {
    const path = `/api/v1/namespaces/${parseKey(plan.key).namespace}/secrets/${plan.name}`;
    await this.#client.call({ method: 'DELETE', path }).catch(() => undefined);
  }

  /** Otherwise the next reconcile would try to create it again. */
  async #waitUntilCached({ name }: PodPlan): Promise<void> {
    const end = Date.now() + CACHE_TIMEOUT_MS;
    while (!this.#byEngine.has(name) && Date.now() < end) await sleep(CACHE_POLL_MS);
  }

  /** Deletes this pod, not a later one with the same name. */
  async #delete(pod: EnginePod, options: { gracePeriodSeconds?: number }): Promise<void> {
    const path = `/api/v1/namespaces/${pod.namespace}/pods/${pod.podName}`;
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: pod.podUid }, ...options };
    try {
      await this.#client.call({ method: 'DELETE', path, body });
    } catch (error) {
      if (!isCode(error, 404, 409)) throw error;
    }
  }

  #podChanged(before: EnginePod | undefined, after: EnginePod | null): void {
    if (after) this.#store(after);
    else if (before) this.#remove(before);
    this.#onChange((after ?? before)!.key);
  }

  #store(pod: EnginePod): void {
    const former = this.#byKey.get(pod.key);
    if (former && former.engine !== pod.engine) this.#remove(former);
    this.#byKey.set(pod.key, pod);
    this.#byEngine.set(pod.engine, pod);
  }

  #remove(pod: EnginePod): void {
    if (this.#byKey.get(pod.key)?.engine === pod.engine) this.#byKey.delete(pod.key);
    if (pod.end && !this.#forgotten.delete(pod.engine))
      return void this.#endedWithoutObject.set(pod.key, pod);
    this.#byEngine.delete(pod.engine);
  }

  #rememberForgotten(engine: string): void {
    this.#forgotten.add(engine);
    const [oldest] = this.#forgotten;
    if (this.#forgotten.size > FORGOTTEN_MAX && oldest !== undefined) this.#forgotten.delete(oldest);
  }

  #nodeChanged(name: string, before: NodeState | undefined, after: NodeState | null): void {
    if (before?.lost === after?.lost) return;
    for (const pod of this.#byKey.values()) if (pod.node === name) this.#onChange(pod.key);
  }

  /** Without the right to read nodes, the operator does not move engines of lost nodes. */
  async #canReadNodes(): Promise<boolean> {
    try {
      await this.#client.call({ path: '/api/v1/nodes', query: { limit: 1 } });
      return true;
    } catch (error) {
      if (!isCode(error, 403)) return true;
      this.#options.log.warn('no right to read nodes; engines of lost nodes are not moved');
      return false;
    }
  }
}

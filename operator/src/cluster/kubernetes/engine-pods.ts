import { CoreV1Api } from '@kubernetes/client-node';
import { ExpiringMap } from '@gwk/core/async/expiring-map';
import type { Logger } from '@gwk/core/process/log';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import { readEngineChoice } from '../../controller/decide.js';
import {
  PodExists,
  type Pod,
  type PodPlan,
  type PodStore,
  type PodTemplate,
  type Target,
} from '../cluster.js';
import { isCode, orNull, type KubeClient } from '@gwk/core/kubernetes/client';
import { derivePod, isNodeLost, readPod, type EnginePod, type RawNode, type RawPod } from './engine-pod.js';
import {
  ENGINE_SELECTOR,
  FIELD_MANAGERS,
  LABELS,
  MANAGED_BY,
  parseKey,
  buildPodName,
} from '@gwk/core/kubernetes/names';
import { buildPod, computeRevision, buildTokenSecret, type EngineSettings } from './pod-spec.js';
import type { Profile, Profiles } from './profiles.js';
import { fitsInPlaceOf } from './quota.js';
import { Informer, type Page, type Watching, type WatchTimes } from './informer.js';

export interface KubernetesClusterOptions {
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
const VERIFIED_MAX = 10_000;
const NAME_BYTES = 5;
export const LIST_TIMEOUT_MS = 90_000;

/**
 * Pods of engines. The pod name is the mutex: `create` creates a pod and never changes an existing one. A pod whose
 * container ended is remembered after its object is gone, until its exit was reported.
 */
export class EnginePods implements PodStore {
  readonly #options: KubernetesClusterOptions;
  readonly #core: CoreV1Api;
  readonly #pods: Informer<RawPod, EnginePod>[];
  readonly #nodes: Informer<RawNode, { lost: boolean }>;
  readonly #lostNodes = new Set<string>();
  readonly #byKey = new Map<string, EnginePod>();
  readonly #byEngine = new Map<string, EnginePod>();
  /** Ended pods whose object is gone and whose exit is not reported yet. */
  readonly #endedWithoutObject = new Map<string, EnginePod>();
  /** Engines whose exit was reported before their object was gone. */
  readonly #forgotten = new ExpiringMap<true>({ max: FORGOTTEN_MAX, ttlMs: Infinity });
  /** Engines whose Secret was seen. Asking again for one that is no longer remembered does no harm. */
  readonly #verified = new ExpiringMap<true>({ max: VERIFIED_MAX, ttlMs: Infinity });
  readonly #revisions = new Map<string, string>();
  #onChange: (key: string) => void = () => undefined;
  #onListed: () => void = () => undefined;
  #mayWatchNodes = true;

  constructor(options: KubernetesClusterOptions) {
    this.#options = options;
    const { client, log, watchTimes: times = {} } = options;
    this.#core = client.makeApiClient(CoreV1Api);
    const lists = client.makeApiClient(CoreV1Api, LIST_TIMEOUT_MS);
    this.#pods = (options.namespaces ?? [null]).map(
      (namespace) =>
        new Informer<RawPod, EnginePod>({
          client,
          log,
          times,
          path: namespace === null ? '/api/v1/pods' : `/api/v1/namespaces/${namespace}/pods`,
          list: (page: Page) =>
            namespace === null
              ? lists.listPodForAllNamespaces(page)
              : lists.listNamespacedPod({ namespace, ...page }),
          labelSelector: ENGINE_SELECTOR,
          transform: readPod,
          onChange: (_, pod, deleted) => this.#podChanged(pod, deleted),
          onListed: () => this.#onListed(),
        }),
    );
    this.#nodes = new Informer<RawNode, { lost: boolean }>({
      client,
      log,
      times,
      path: '/api/v1/nodes',
      list: (page) => lists.listNode(page),
      transform: (raw) => ({ lost: isNodeLost(raw) }),
      onChange: (name, { lost }, deleted) => this.#nodeChanged(name, lost && !deleted),
    });
    for (const [name, profile] of Object.entries(options.profiles))
      this.#revisions.set(name, computeRevision(profile, options.settings));
  }

  get watches(): Watching[] {
    return [...this.#pods, ...(this.#mayWatchNodes ? [this.#nodes] : [])];
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

  find(key: string): Pod {
    const pod = this.#byKey.get(key) ?? this.#endedWithoutObject.get(key);
    if (!pod) return { phase: 'absent' };
    const lost = pod.node !== null && this.#lostNodes.has(pod.node);
    const derived = derivePod(pod, lost);
    if (derived.phase !== 'starting' || this.#verified.get(pod.name)) return derived;
    return { ...derived, unverified: true };
  }

  templateFor(resource: InstanceResource): PodTemplate | null {
    const choice = readEngineChoice(resource);
    const revision = this.#revisions.get(choice.profile);
    return revision === undefined ? null : { ...choice, revision };
  }

  newName({ key }: Target): string {
    return `${buildPodName(parseKey(key).name)}-${randomBytes(NAME_BYTES).toString('hex')}`;
  }

  /** The API server asks all admission plugins before it finds that the present pod has the name. */
  async check(plan: Omit<PodPlan, 'token'>): Promise<void> {
    const { namespace } = parseKey(plan.key);
    const profile = this.#profile(plan.template.profile);
    const body = buildPod(plan, profile, this.#options.settings);
    const fieldManager = FIELD_MANAGERS.objects;
    try {
      await this.#core.createNamespacedPod({ namespace, body, fieldManager, dryRun: 'All' });
    } catch (error) {
      if (isCode(error, 409)) return;
      if (!isCode(error, 403) || !(await this.#fitsInPlaceOfPresent(plan, error as Error))) throw error;
    }
  }

  /** The present pod may use the part of the quota that the new one needs. */
  async #fitsInPlaceOfPresent({ key }: Pick<PodPlan, 'key'>, refusal: Error): Promise<boolean> {
    const { namespace, name } = parseKey(key);
    const present = await orNull(this.#core.readNamespacedPod({ namespace, name: buildPodName(name) }));
    return present?.spec !== undefined && (fitsInPlaceOf(refusal.message, present.spec) ?? false);
  }

  /**
   * The Secret follows its pod, because an owner cannot be added later without the right to change Secrets. The kubelet
   * retries until it exists. After any failure in between, `verify` deletes the pod, which cannot have started.
   * @throws PodExists
   */
  async create(plan: PodPlan): Promise<void> {
    const present = this.#byKey.get(plan.key);
    if (present) throw new PodExists(present.shownAs);
    const profile = this.#profile(plan.template.profile);
    await this.#createSecret(plan, await this.#createPod(plan, profile));
    this.#verified.set(plan.name, true);
    await this.#waitUntilCached(plan);
  }

  /** A dry run of a deletion shows whether the Secret exists, without the right to read it. */
  async verify(engine: string): Promise<void> {
    const pod = this.#byEngine.get(engine);
    if (!pod) return;
    const { namespace } = parseKey(pod.key);
    const found = await orNull(this.#core.deleteNamespacedSecret({ namespace, name: engine, dryRun: 'All' }));
    if (found === null) await this.#delete(pod, {});
    else this.#verified.set(engine, true);
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
    if (pod.end) this.#forgotten.set(engine, true);
    await this.#delete(pod, {});
  }

  async forceDelete(engine: string): Promise<void> {
    const pod = this.#byEngine.get(engine);
    if (!pod) return;
    this.#options.log.warn({ pod: engine, instance: pod.key }, 'force-deleting the pod of a lost node');
    await this.#delete(pod, { gracePeriodSeconds: 0 });
  }

  #profile(name: string): Profile {
    const profile = this.#options.profiles[name];
    if (!profile) throw new Error(`no engine profile ${name}`);
    return profile;
  }

  async #createSecret(plan: PodPlan, podUid: string): Promise<void> {
    const { namespace } = parseKey(plan.key);
    const body = buildTokenSecret(plan, podUid, this.#options.settings);
    await this.#core.createNamespacedSecret({ namespace, body, fieldManager: FIELD_MANAGERS.objects });
  }

  /** Create instead of apply: apply would overwrite a foreign pod with this name. */
  async #createPod(plan: PodPlan, profile: Profile): Promise<string> {
    const { namespace } = parseKey(plan.key);
    const body = buildPod(plan, profile, this.#options.settings);
    try {
      const fieldManager = FIELD_MANAGERS.objects;
      const made = await this.#core.createNamespacedPod({ namespace, body, fieldManager });
      return made.metadata!.uid!;
    } catch (error) {
      if (!isCode(error, 409)) throw error;
      throw await this.#describeConflict(plan);
    }
  }

  async #describeConflict({ key }: PodPlan): Promise<Error> {
    const { namespace, name } = parseKey(key);
    const podName = buildPodName(name);
    const { metadata } = await this.#core.readNamespacedPod({ namespace, name: podName });
    return new PodExists(podName, metadata?.labels?.[LABELS.managedBy] !== MANAGED_BY);
  }

  /** Otherwise the next reconcile would try to create it again. */
  async #waitUntilCached({ name }: PodPlan): Promise<void> {
    const end = Date.now() + CACHE_TIMEOUT_MS;
    while (!this.#byEngine.has(name) && Date.now() < end) await sleep(CACHE_POLL_MS);
  }

  /** Deletes this pod, not a later one with the same name. */
  async #delete(pod: EnginePod, options: { gracePeriodSeconds?: number }): Promise<void> {
    const { namespace } = parseKey(pod.key);
    const body = { preconditions: { uid: pod.podUid }, ...options };
    try {
      await this.#core.deleteNamespacedPod({ namespace, name: pod.shownAs, body });
    } catch (error) {
      if (!isCode(error, 404, 409)) throw error;
    }
  }

  #podChanged(pod: EnginePod, deleted: boolean): void {
    if (deleted) this.#remove(pod);
    else this.#store(pod);
    this.#onChange(pod.key);
  }

  #store(pod: EnginePod): void {
    const former = this.#byKey.get(pod.key);
    if (former && former.name !== pod.name) this.#remove(former);
    this.#byKey.set(pod.key, pod);
    this.#byEngine.set(pod.name, pod);
  }

  #remove(pod: EnginePod): void {
    if (this.#byKey.get(pod.key)?.name === pod.name) this.#byKey.delete(pod.key);
    if (pod.end && !this.#forgotten.get(pod.name)) return void this.#endedWithoutObject.set(pod.key, pod);
    this.#forgotten.delete(pod.name);
    this.#verified.delete(pod.name);
    this.#byEngine.delete(pod.name);
  }

  #nodeChanged(name: string, lost: boolean): void {
    if (lost === this.#lostNodes.has(name)) return;
    if (lost) this.#lostNodes.add(name);
    else this.#lostNodes.delete(name);
    for (const pod of this.#byKey.values()) if (pod.node === name) this.#onChange(pod.key);
  }

  /** Without the right to read nodes, the operator does not move engines of lost nodes. */
  async #canReadNodes(): Promise<boolean> {
    try {
      await this.#core.listNode({ limit: 1 });
      return true;
    } catch (error) {
      if (!isCode(error, 403)) return true;
      this.#options.log.warn('no right to read nodes; engines of lost nodes are not moved');
      return false;
    }
  }
}

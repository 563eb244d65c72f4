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

export interface EnginePodsOptions {
  client: KubeClient;
  /** Null: all. */
  namespaces: string[] | null;
  profiles: Profiles;
  settings: EngineSettings;
  log: Logger;
  watchTimes?: Partial<WatchTimes>;
}

/** So long the caches may take to show what was just made. */
const SEEN_MS = 5000;
const SEEN_POLL_MS = 20;
const FORGOTTEN_MAX = 1000;
const NAME_BYTES = 5;

/**
 * Pods of engines. Their names are the mutex: `createPod` makes, and never changes what is there. A pod whose
 * container ended is remembered after its object is gone, until its end was reported.
 */
export class EnginePods {
  readonly #options: EnginePodsOptions;
  readonly #client: KubeClient;
  readonly #pods: Informer<RawPod, EnginePod>[];
  readonly #nodes: Informer<RawNode, NodeState>;
  readonly #byKey = new Map<string, EnginePod>();
  readonly #byEngine = new Map<string, EnginePod>();
  /** Ended, its object gone, its end not reported yet. */
  readonly #late = new Map<string, EnginePod>();
  /** Names of engines whose end was reported before their object was gone. */
  readonly #forgotten = new Set<string>();
  readonly #revisions = new Map<string, string>();
  #changed: (key: string) => void = () => undefined;
  #listed: () => void = () => undefined;
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
          keep: (raw) => readPod(raw, (id) => fromPublicId('instance', id)),
          changed: (_, before, after) => this.#podChanged(before, after),
          listed: () => this.#listed(),
        }),
    );
    this.#nodes = new Informer<RawNode, NodeState>({
      client,
      log,
      times,
      path: '/api/v1/nodes',
      keep: readNode,
      changed: (name, before, after) => this.#nodeChanged(name, before, after),
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

  /** Whether the pods of the namespace with this number were listed. */
  isListed(index: number): boolean {
    return this.#pods[index]?.listed ?? false;
  }

  async start(changed: (key: string) => void, listed: () => void): Promise<void> {
    this.#changed = changed;
    this.#listed = listed;
    this.#mayWatchNodes = await this.#canWatchNodes();
    await Promise.all(this.watches.map((watch) => watch.start()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.watches.map((watch) => watch.stop()));
  }

  keys(): string[] {
    return [...this.#byKey.keys(), ...this.#late.keys()];
  }

  of(key: string): Pod {
    const pod = this.#byKey.get(key) ?? this.#late.get(key);
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
    await this.#makeSecret(plan);
    const podUid = await this.#makePod(plan, profile);
    await this.#giveSecret(plan, podUid);
    await this.#untilSeen(plan);
  }

  /** Asks; what has ended is forgotten. */
  async delete(engine: string): Promise<void> {
    const pod = this.#byEngine.get(engine);
    if (!pod) return;
    if (this.#late.get(pod.key) === pod) {
      this.#late.delete(pod.key);
      this.#byEngine.delete(engine);
      return this.#changed(pod.key);
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
    if (!profile) throw new Error(`there is no engine profile ${name}`);
    return profile;
  }

  async #makeSecret(plan: PodPlan): Promise<void> {
    await this.#client.call({
      method: 'POST',
      path: `/api/v1/namespaces/${parseKey(plan.key).namespace}/secrets`,
      query: { fieldManager: FIELD_MANAGERS.objects },
      body: buildTokenSecret(plan, this.#options.settings),
    });
  }

  /** Not applied but created: to apply would write over what somebody else has under this name. */
  async #makePod(plan: PodPlan, profile: Profile): Promise<string> {
    const { namespace } = parseKey(plan.key);
    const body = buildPod(plan, profile, this.#options.settings);
    const path = `/api/v1/namespaces/${namespace}/pods`;
    const query = { fieldManager: FIELD_MANAGERS.objects };
    try {
      const made = await this.#client.call<RawPod>({ method: 'POST', path, query, body });
      return made.metadata.uid;
    } catch (error) {
      // Not after a call without an answer: the pod may be there, and need its secret.
      if (error instanceof KubeError && error.code !== 0) await this.#removeSecret(plan);
      if (!isCode(error, 409)) throw error;
      throw await this.#whoHasTheName(plan);
    }
  }

  async #whoHasTheName({ key }: PodPlan): Promise<Error> {
    const { namespace, name } = parseKey(key);
    const podName = buildPodName(name);
    const path = `/api/v1/namespaces/${namespace}/pods/${podName}`;
    const { metadata } = await this.#client.call<RawPod>({ path });
    return new PodExists(podName, metadata.labels?.[LABELS.managedBy] !== MANAGED_BY);
  }

  /** Garbage collection takes it with its pod. Where this fails it stays until its Instance is deleted. */
  async #giveSecret(plan: PodPlan, podUid: string): Promise<void> {
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
        this.#options.log.info({ secret: plan.name, err: error }, 'a secret was not given to its pod'),
      );
  }

  async #removeSecret(plan: PodPlan): Promise<void> {
    const path = `/api/v1/namespaces/${parseKey(plan.key).namespace}/secrets/${plan.name}`;
    await this.#client.call({ method: 'DELETE', path }).catch(() => undefined);
  }

  /** So that the next pass does not make it a second time, in vain. */
  async #untilSeen({ name }: PodPlan): Promise<void> {
    const end = Date.now() + SEEN_MS;
    while (!this.#byEngine.has(name) && Date.now() < end) await sleep(SEEN_POLL_MS);
  }

  /** This one, and no later one of the same name. */
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
    if (after) this.#take(after);
    else if (before) this.#gone(before);
    this.#changed((after ?? before)!.key);
  }

  #take(pod: EnginePod): void {
    const former = this.#byKey.get(pod.key);
    if (former && former.engine !== pod.engine) this.#gone(former);
    this.#byKey.set(pod.key, pod);
    this.#byEngine.set(pod.engine, pod);
  }

  #gone(pod: EnginePod): void {
    if (this.#byKey.get(pod.key)?.engine === pod.engine) this.#byKey.delete(pod.key);
    if (pod.end && !this.#forgotten.delete(pod.engine)) return void this.#late.set(pod.key, pod);
    this.#byEngine.delete(pod.engine);
  }

  #rememberForgotten(engine: string): void {
    this.#forgotten.add(engine);
    const [oldest] = this.#forgotten;
    if (this.#forgotten.size > FORGOTTEN_MAX && oldest !== undefined) this.#forgotten.delete(oldest);
  }

  #nodeChanged(name: string, before: NodeState | undefined, after: NodeState | null): void {
    if (before?.lost === after?.lost) return;
    for (const pod of this.#byKey.values()) if (pod.node === name) this.#changed(pod.key);
  }

  /** An operator that may not look at nodes does without: engines of lost nodes then stay as they are. */
  async #canWatchNodes(): Promise<boolean> {
    try {
      await this.#client.call({ path: '/api/v1/nodes', query: { limit: 1 } });
      return true;
    } catch (error) {
      if (!isCode(error, 403)) return true;
      this.#options.log.warn('nodes may not be read: engines of a node that is lost are not moved');
      return false;
    }
  }
}

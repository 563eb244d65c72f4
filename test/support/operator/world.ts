import { createLogger } from '@gwk/core/process/log';
import { FINALIZER, type Condition, type InstanceResource } from '@gwk/core/resources/manifest';
import {
  PodExists,
  type Cluster,
  type EndedPod,
  type LivePod,
  type Pod,
  type InstanceEvent,
} from '@gwk/operator/cluster/cluster';
import { Controller, type ControllerOptions } from '@gwk/operator/controller/controller';
import { readEngineChoice } from '@gwk/operator/controller/decide';
import { inFakeTime, type PassTime } from '../fake-time.js';
import { resource } from './build.js';
import { FakeInternalApi } from './fake-internal-api.js';

export const BOOT_MS = 300;
export const FAREWELL_MS = 200;
const LIMITS = { idleMs: 600_000, maxUnpairedEngines: 3, leaseTimeoutMs: 60_000, stuckMs: 300_000 };
const LEASE_MS = 86_400_000;

type Present = LivePod | EndedPod;

/** The controller with a cluster and an API in memory. Engines are map entries that live by timers. */
export class World {
  readonly api = new FakeInternalApi(() => 0);
  /** Behaviour of an engine after its boot; `end` exits with that description. */
  engine: 'serve' | 'hang' | { end: string } = 'serve';
  /** The cluster refuses to delete pods. */
  keepsPods = false;
  /** Why the cluster refuses new pods; null: it accepts them. */
  refuses: string | null = null;
  /** Key of the only resource whose pods it refuses; null: all. */
  refusesOnly: string | null = null;
  /** Duration of each write to the cluster. */
  writeMs = 0;
  /** Pods that the cluster refused. */
  refused = 0;
  /** Actions on engines and resources, in order. */
  readonly done: string[] = [];
  readonly events: InstanceEvent[] = [];
  controller: Controller;
  readonly #options: Partial<ControllerOptions>;
  readonly #resources = new Map<string, InstanceResource>();
  readonly #pods = new Map<string, Present>();
  #made = 0;
  #revision = 'r1';
  #changed: (key: string) => void = () => undefined;

  constructor(options: Partial<ControllerOptions> = {}) {
    this.#options = options;
    this.api.leaseMs = LEASE_MS;
    this.api.removing = () => void this.done.push('row asked for');
    this.controller = this.#newController();
  }

  #newController(): Controller {
    return new Controller({
      cluster: this.#cluster,
      api: this.api.inProcess(),
      log: createLogger('operator', 'silent'),
      limits: LIMITS,
      maxConcurrentUpgrades: 1,
      backoff: { firstMs: 1_000, maxMs: 300_000, random: () => 0 },
      ...this.#options,
    });
  }

  readonly #cluster: Cluster = {
    start: (changed) => {
      this.#changed = changed;
      return Promise.resolve();
    },
    endPods: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    keys: () => [...new Set([...this.#resources.keys(), ...this.#pods.keys()])],
    resource: (key) => this.#resources.get(key),
    // Like a watch: a write comes back and causes another reconcile.
    setStatus: async ({ key }, status) => {
      await this.#write();
      await this.#put(key, { status }, 'status');
    },
    setFinalizer: async ({ key }, isSet) => {
      await this.#write();
      await this.#setFinalizers(key, isSet ? [FINALIZER] : []);
    },
    deleteResource: async ({ key }) => this.delete(key),
    pods: {
      find: (key) => this.#pods.get(key) ?? { phase: 'absent' },
      templateFor: (shown) => ({ ...readEngineChoice(shown), revision: this.#revision }),
      newName: () => `ins-${++this.#made}`,
      check: async ({ key }) => this.#admit(key),
      create: async (plan) => {
        const { token, ...identity } = plan;
        await this.#write();
        this.#admit(plan.key);
        if (this.#pods.has(plan.key)) throw new PodExists(plan.name);
        this.done.push(`${plan.name} starts`);
        const shared = { shownAs: plan.name, node: null, version: '0.1.0', startedAt: Date.now() };
        this.#move(plan.key, { ...identity, ...shared, phase: 'starting', waiting: null, endingSince: null });
        setTimeout(() => this.#boot(plan.key, plan.name, token), BOOT_MS);
      },
      verify: () => Promise.resolve(),
      delete: async (name) => this.#deletePod(name),
      forceDelete: async (name) => this.#deletePod(name),
    },
    publishPairing: () => Promise.resolve(),
    removePairingRequest: () => Promise.resolve(),
    recordEvent: (_, line) => void this.events.push(line),
    checks: () => ({}),
    countInvalid: () => 0,
  };

  /** @param name with or without its namespace, by default `default` */
  apply(name: string, spec: Partial<InstanceResource['spec']> = {}): Promise<void> {
    const key = getKey(name);
    const before = this.#resources.get(key);
    const [namespace, own] = key.split('/') as [string, string];
    const creationTimestamp = new Date().toISOString();
    const metadata = { name: own, namespace, uid: `uid-${name}`, finalizers: [], creationTimestamp };
    const fresh = resource(spec, metadata);
    const generation = (before?.metadata.generation ?? 0) + 1;
    return this.#put(key, { ...fresh, metadata: { ...(before ?? fresh).metadata, generation } });
  }

  async delete(key: string): Promise<void> {
    const metadata = this.#resources.get(key)!.metadata;
    const deletionTimestamp = new Date().toISOString();
    await this.#put(key, { metadata: { ...metadata, deletionTimestamp } });
    await this.#setFinalizers(key, metadata.finalizers ?? []);
  }

  /** An operator with another version of engines replaces the present one. */
  async upgrade(revision: string): Promise<void> {
    await this.controller.stop();
    this.#revision = revision;
    this.controller = this.#newController();
    await this.controller.start();
  }

  async annotate(name: string, annotations: Record<string, string>): Promise<void> {
    const { metadata } = this.get(name)!;
    await this.#put(getKey(name), { metadata: { ...metadata, annotations } });
  }

  /** An engine exits without a request. */
  kill(name: string, how = 'ended by SIGKILL'): void {
    this.#end(this.#pods.get(getKey(name))!, how, false);
  }

  /** An engine stops renewing its lease but keeps running. */
  hang(name: string): void {
    this.facts(name)!.lease.expires_at = new Date().toISOString();
  }

  get(name: string): InstanceResource | undefined {
    return this.#resources.get(getKey(name));
  }

  pod(name: string): Pod {
    return this.#cluster.pods.find(getKey(name));
  }

  facts(name: string): ReturnType<FakeInternalApi['factsOf']> {
    return this.api.factsOf(`uid-${name}`);
  }

  condition(name: string, type: Condition['type']): string | undefined {
    const found = this.get(name)?.status?.conditions.find((one) => one.type === type);
    return found && `${found.status}/${found.reason}`;
  }

  async #write(): Promise<void> {
    if (this.writeMs > 0) await new Promise((resolve) => setTimeout(resolve, this.writeMs));
  }

  /** Like an admission webhook, it uses other words each time. */
  #admit(key: string): void {
    if (this.refuses !== null && (this.refusesOnly ?? key) === key)
      throw new Error(`${this.refuses}, attempt ${++this.refused}`);
  }

  #put(key: string, change: Partial<InstanceResource>, what = 'resource'): Promise<void> {
    const before = this.#resources.get(key);
    if (what === 'status' && !before) return Promise.resolve();
    this.#resources.set(key, { ...before, ...change } as InstanceResource);
    if (what === 'status') this.done.push('status');
    this.#changed(key);
    return Promise.resolve();
  }

  #setFinalizers(key: string, finalizers: string[]): Promise<void> {
    const { metadata } = this.#resources.get(key)!;
    if (metadata.deletionTimestamp === undefined || finalizers.length > 0)
      return this.#put(key, { metadata: { ...metadata, finalizers } });
    this.done.push(`${metadata.name} is gone`);
    this.#resources.delete(key);
    this.#changed(key);
    return Promise.resolve();
  }

  #move(key: string, pod: Present): void {
    this.#pods.set(key, pod);
    this.#changed(key);
  }

  #boot(key: string, name: string, token: string): void {
    const pod = this.#pods.get(key);
    if (pod?.name !== name || pod.phase !== 'starting') return;
    if (typeof this.engine === 'object') return this.#end(pod, this.engine.end, false);
    this.#move(key, { ...pod, phase: 'running' });
    if (this.engine === 'serve') this.api.engine('acquire', token, { pod: name });
  }

  #deletePod(name: string): void {
    const pod = [...this.#pods.values()].find((one) => one.name === name);
    if (this.keepsPods) {
      this.done.push(`${name} is kept`);
      throw new Error('refused');
    }
    if (!pod || pod.phase === 'ending') return;
    if (pod.phase !== 'ended') {
      this.#move(pod.key, { ...pod, phase: 'ending' });
      return void setTimeout(() => this.#end({ ...pod, phase: 'ending' }, 'exit code 0', true), FAREWELL_MS);
    }
    this.#pods.delete(pod.key);
    this.#changed(pod.key);
  }

  #end(pod: Present, how: string, requested: boolean): void {
    this.done.push(`${pod.name} ends`);
    this.#move(pod.key, { ...pod, phase: 'ended', endedAt: Date.now(), requested, how });
  }
}

const getKey = (name: string): string => (name.includes('/') ? name : `default/${name}`);

/** A test with a started controller in fake time. */
export function inWorld(
  work: (world: World, pass: PassTime) => Promise<void>,
  options: Partial<ControllerOptions> = {},
): () => Promise<void> {
  return inFakeTime(async (print) => {
    const world = new World(options);
    await world.controller.start();
    try {
      await work(world, print);
    } finally {
      await world.controller.stop();
    }
  });
}

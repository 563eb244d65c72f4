import type { TestCluster } from '../support/kubernetes/test-cluster.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { FakeEngine } from './fake-engine.js';

/**
 * Plays a node with its kubelet and the scheduler, for a namespace of a Kubernetes without nodes: takes the pods that
 * nobody has, runs a stand-in engine for each, and tells how they fare. Its mood is how it fails.
 */
export interface RawEnginePod {
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    deletionTimestamp?: string;
    deletionGracePeriodSeconds?: number;
    annotations: Record<string, string>;
    labels: Record<string, string>;
  };
  spec: {
    nodeName?: string;
    containers: { image: string; env: { name: string; value: string }[] }[];
    volumes: { secret?: { secretName: string } }[];
  };
  status?: { phase?: string };
}

const POLL_MS = 40;
/** Told of a pod whose secret is not there yet: its kubelet looks for it again and again. */
const NO_SECRET = 'no secret';

export interface NodeOptions {
  cluster: TestCluster;
  namespace: string;
  name: string;
  portUrl: string;
  /** What an image does; a name that is not given runs well. */
  images?: Record<string, 'missing' | 'crashes' | 'hangs'>;
}

export class FakeNode {
  /** `silent`: its kubelet is heard no more, and its engines go on. `full`: it takes no new pods. */
  mood: 'well' | 'silent' | 'full' = 'well';
  readonly holders = new Map<string, FakeEngine>();
  readonly #options: NodeOptions;
  readonly #told = new Map<string, string>();
  #stopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: NodeOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  async start(): Promise<this> {
    const { cluster, name } = this.#options;
    await cluster.post('/api/v1/nodes', { metadata: { name } });
    await this.say('True');
    this.#running = this.#run();
    return this;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
    for (const holder of this.holders.values()) holder.kill();
    await this.#options.cluster.delete(`/api/v1/nodes/${this.name}`);
  }

  /** What the control plane believes of it. */
  async say(ready: 'True' | 'Unknown'): Promise<void> {
    const at = new Date().toISOString();
    const condition = { type: 'Ready', status: ready, reason: 'Test', lastTransitionTime: at };
    await this.#options.cluster.merge(`/api/v1/nodes/${this.name}/status`, {
      status: { conditions: [condition] },
    });
  }

  /** The engine of a pod ends by itself. */
  async crash(pod: RawEnginePod, code = 1): Promise<void> {
    this.holders.get(pod.metadata.uid)?.kill();
    await this.#ended(pod, code, 'something broke');
  }

  pods(): Promise<RawEnginePod[]> {
    const { cluster, namespace } = this.#options;
    return cluster.list<RawEnginePod>(`/api/v1/namespaces/${namespace}/pods`);
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      if (this.mood !== 'silent') await this.#look().catch(() => undefined);
      await sleep(POLL_MS);
    }
  }

  async #look(): Promise<void> {
    for (const pod of await this.pods()) {
      // It fell silent during the look.
      if (this.mood === 'silent') return;
      if (pod.spec.nodeName === undefined && this.mood === 'well') await this.#bind(pod);
      else if (pod.spec.nodeName === this.name) await this.#tend(pod);
    }
    await this.#reap();
  }

  async #bind({ metadata: { name, namespace, deletionTimestamp } }: RawEnginePod): Promise<void> {
    if (deletionTimestamp !== undefined) return;
    await this.#options.cluster.post(`/api/v1/namespaces/${namespace}/pods/${name}/binding`, {
      metadata: { name },
      target: { apiVersion: 'v1', kind: 'Node', name: this.name },
    });
  }

  async #tend(pod: RawEnginePod): Promise<void> {
    const { uid, deletionTimestamp } = pod.metadata;
    if (deletionTimestamp !== undefined) return this.#end(pod);
    const told = this.#told.get(uid);
    if (told !== undefined && told !== NO_SECRET) return;
    const image = this.#options.images?.[pod.spec.containers[0]!.image];
    if (image === 'missing') return this.#tell(pod, 'waiting', WAITING);
    const token = await this.#tokenOf(pod);
    if (token === null) {
      const waiting = { waiting: { reason: 'CreateContainerConfigError' } };
      return told === undefined ? this.#tell(pod, NO_SECRET, waiting) : undefined;
    }
    if (image === 'crashes') return this.#ended(pod, 1, 'something broke');
    if (!this.holders.has(uid)) {
      const holder = new FakeEngine(this.#options.portUrl, token, pod);
      this.holders.set(uid, holder);
      if (image !== 'hangs') holder.start();
    }
    await this.#tell(pod, 'running', { running: { startedAt: new Date().toISOString() } }, 'Running');
  }

  async #tokenOf(pod: RawEnginePod): Promise<string | null> {
    const { cluster, namespace } = this.#options;
    const name = pod.spec.volumes.find(({ secret }) => secret)?.secret?.secretName;
    const { status, body } = await cluster.get<{ data: { token: string } }>(
      `/api/v1/namespaces/${namespace}/secrets/${name}`,
    );
    return status === 200 ? Buffer.from(body.data.token, 'base64').toString() : null;
  }

  /** As a kubelet: the engine ends, its status says so, and only then the object goes. */
  async #end(pod: RawEnginePod): Promise<void> {
    const { uid } = pod.metadata;
    const holder = this.holders.get(uid);
    if (holder && !holder.ended) await holder.leave();
    if (this.#told.get(uid) !== 'ended') await this.#ended(pod, 0, '');
    const path = `/api/v1/namespaces/${pod.metadata.namespace}/pods/${pod.metadata.name}`;
    await this.#options.cluster.delete(path, { gracePeriodSeconds: 0, preconditions: { uid } });
  }

  async #reap(): Promise<void> {
    const pods = await this.pods();
    if (this.mood === 'silent') return;
    for (const [uid, holder] of this.holders) {
      const pod = pods.find((one) => one.metadata.uid === uid);
      // Its object went by force: a kubelet that hears of it ends the container.
      if (!pod) holder.kill();
      else if (holder.ended && this.#told.get(uid) === 'running') await this.#ended(pod, 10, 'fenced');
    }
  }

  #ended(pod: RawEnginePod, exitCode: number, message: string): Promise<void> {
    const at = new Date().toISOString();
    const state = { terminated: { exitCode, reason: 'Error', message, startedAt: at, finishedAt: at } };
    return this.#tell(pod, 'ended', state, exitCode === 0 ? 'Succeeded' : 'Failed');
  }

  async #tell(pod: RawEnginePod, what: string, state: object, phase = 'Pending'): Promise<void> {
    const { name, namespace, uid } = pod.metadata;
    const container = {
      name: 'engine',
      image: pod.spec.containers[0]!.image,
      imageID: '',
      ready: false,
      restartCount: 0,
      state,
    };
    const before = this.#told.get(uid);
    // At once: nobody else is to tell of it meanwhile.
    this.#told.set(uid, what);
    const { status: code } = await this.#options.cluster.merge(
      `/api/v1/namespaces/${namespace}/pods/${name}/status`,
      { metadata: { uid }, status: { phase, containerStatuses: [container] } },
    );
    if (code < 500 && code !== 429) return;
    // The next look tells it.
    if (before === undefined) this.#told.delete(uid);
    else this.#told.set(uid, before);
  }
}

const WAITING = { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "missing"' } };

import type { TestCluster } from '../support/kubernetes/test-cluster.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { FakeEngine } from './fake-engine.js';

/**
 * A fake node with its kubelet and the scheduler, for a namespace of a Kubernetes without nodes. It binds unscheduled
 * pods, runs a fake engine for each, and reports their status. `condition` selects how it fails.
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
/** Reported for a pod whose Secret does not exist yet. The kubelet retries. */
const NO_SECRET = 'no secret';

export interface NodeOptions {
  cluster: TestCluster;
  namespace: string;
  name: string;
  apiUrl: string;
  /** Behaviour of an image; others run well. */
  images?: Record<string, 'missing' | 'crashes' | 'hangs'>;
}

export class FakeNode {
  /** `unresponsive`: its kubelet reports nothing, and its engines continue. `full`: it accepts no new pods. */
  condition: 'healthy' | 'unresponsive' | 'full' = 'healthy';
  readonly engines = new Map<string, FakeEngine>();
  readonly #options: NodeOptions;
  readonly #reported = new Map<string, string>();
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
    await this.setReady('True');
    this.#running = this.#run();
    return this;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
    for (const engine of this.engines.values()) engine.kill();
    await this.#options.cluster.delete(`/api/v1/nodes/${this.name}`);
  }

  /** Sets the Ready condition that the control plane reports. */
  async setReady(status: 'True' | 'Unknown'): Promise<void> {
    const at = new Date().toISOString();
    const ready = { type: 'Ready', status, reason: 'Test', lastTransitionTime: at };
    await this.#options.cluster.merge(`/api/v1/nodes/${this.name}/status`, {
      status: { conditions: [ready] },
    });
  }

  /** Lets the engine of a pod exit by itself. */
  async crash(pod: RawEnginePod, code = 1): Promise<void> {
    this.engines.get(pod.metadata.uid)?.kill();
    await this.#ended(pod, code, 'something broke');
  }

  pods(): Promise<RawEnginePod[]> {
    const { cluster, namespace } = this.#options;
    return cluster.list<RawEnginePod>(`/api/v1/namespaces/${namespace}/pods`);
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      if (this.condition !== 'unresponsive') await this.#poll().catch(() => undefined);
      await sleep(POLL_MS);
    }
  }

  async #poll(): Promise<void> {
    for (const pod of await this.pods()) {
      // It became unresponsive meanwhile.
      if (this.condition === 'unresponsive') return;
      if (pod.spec.nodeName === undefined && this.condition === 'healthy') await this.#bind(pod);
      else if (pod.spec.nodeName === this.name) await this.#sync(pod);
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

  async #sync(pod: RawEnginePod): Promise<void> {
    const { uid, deletionTimestamp } = pod.metadata;
    if (deletionTimestamp !== undefined) return this.#end(pod);
    const reported = this.#reported.get(uid);
    if (reported !== undefined && reported !== NO_SECRET) return;
    const image = this.#options.images?.[pod.spec.containers[0]!.image];
    if (image === 'missing') return this.#report(pod, 'waiting', WAITING);
    const token = await this.#tokenOf(pod);
    if (token === null) {
      const waiting = { waiting: { reason: 'CreateContainerConfigError' } };
      return reported === undefined ? this.#report(pod, NO_SECRET, waiting) : undefined;
    }
    if (image === 'crashes') return this.#ended(pod, 1, 'something broke');
    if (!this.engines.has(uid)) {
      const engine = new FakeEngine(this.#options.apiUrl, token, pod);
      this.engines.set(uid, engine);
      if (image !== 'hangs') engine.start();
    }
    await this.#report(pod, 'running', { running: { startedAt: new Date().toISOString() } }, 'Running');
  }

  async #tokenOf(pod: RawEnginePod): Promise<string | null> {
    const { cluster, namespace } = this.#options;
    const name = pod.spec.volumes.find(({ secret }) => secret)?.secret?.secretName;
    const { status, body } = await cluster.get<{ data: { token: string } }>(
      `/api/v1/namespaces/${namespace}/secrets/${name}`,
    );
    return status === 200 ? Buffer.from(body.data.token, 'base64').toString() : null;
  }

  /** Like a kubelet: stop the engine, report its status, then delete the object. */
  async #end(pod: RawEnginePod): Promise<void> {
    const { uid } = pod.metadata;
    const engine = this.engines.get(uid);
    if (engine && !engine.ended) await engine.stop();
    if (this.#reported.get(uid) !== 'ended') await this.#ended(pod, 0, '');
    const path = `/api/v1/namespaces/${pod.metadata.namespace}/pods/${pod.metadata.name}`;
    await this.#options.cluster.delete(path, { gracePeriodSeconds: 0, preconditions: { uid } });
  }

  async #reap(): Promise<void> {
    const pods = await this.pods();
    if (this.condition === 'unresponsive') return;
    for (const [uid, engine] of this.engines) {
      const pod = pods.find((one) => one.metadata.uid === uid);
      // The pod was force-deleted: the kubelet then kills the container.
      if (!pod) engine.kill();
      else if (engine.ended && this.#reported.get(uid) === 'running') await this.#ended(pod, 10, 'fenced');
    }
  }

  #ended(pod: RawEnginePod, exitCode: number, message: string): Promise<void> {
    const at = new Date().toISOString();
    const state = { terminated: { exitCode, reason: 'Error', message, startedAt: at, finishedAt: at } };
    return this.#report(pod, 'ended', state, exitCode === 0 ? 'Succeeded' : 'Failed');
  }

  async #report(pod: RawEnginePod, what: string, state: object, phase = 'Pending'): Promise<void> {
    const { name, namespace, uid } = pod.metadata;
    const container = {
      name: 'engine',
      image: pod.spec.containers[0]!.image,
      imageID: '',
      ready: false,
      restartCount: 0,
      state,
    };
    const before = this.#reported.get(uid);
    // Set it now, so that nobody else reports it meanwhile.
    this.#reported.set(uid, what);
    const { status: code } = await this.#options.cluster.merge(
      `/api/v1/namespaces/${namespace}/pods/${name}/status`,
      { metadata: { uid }, status: { phase, containerStatuses: [container] } },
    );
    if (code < 500 && code !== 429) return;
    // The next poll reports it.
    if (before === undefined) this.#reported.delete(uid);
    else this.#reported.set(uid, before);
  }
}

const WAITING = { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "missing"' } };

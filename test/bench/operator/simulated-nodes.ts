import type { CoreV1Api } from '@kubernetes/client-node';
import { newUuid } from '@gwk/core/ids/ids';
import type { EngineRequest, EngineResponse } from '@gwk/core/protocol/engine';
import { isCode, PATCH } from '@gwk/core/kubernetes/client';
import type { EnginePod } from '@gwk/operator/cluster/kubernetes/engine-pod';
import { pause } from '../../support/wait.js';
import type { BenchGateway } from './gateway.js';

const PODS_A_NODE = 100;
const ATTEMPTS = 10;

interface NodesOptions {
  core: CoreV1Api;
  namespace: string;
  gateway: BenchGateway;
}

interface Engine {
  node: string;
  token: string;
  lease: { epoch: number; holder: string } | null;
  ended: boolean;
}

/**
 * Scheduler and kubelets of a cluster without containers. Each pod is bound to a node and reported running. Its
 * simulated engine takes its lease and reports `connected` through the real internal API, with the token of its Secret.
 */
export class SimulatedNodes {
  /** Time from the start of a container until its engine takes the lease. */
  startMs = 0;
  /** Times at which an engine connected, in ms of `performance.now`. */
  readonly connections: number[] = [];
  readonly #nodes: string[] = [];
  readonly #lost = new Set<string>();
  readonly #engines = new Map<string, Engine>();
  #scheduled = 0;

  constructor(private readonly options: NodesOptions) {}

  /** @param instances that they must have place for, also after a tenth of the nodes is lost */
  async start(instances: number): Promise<void> {
    const { core } = this.options;
    const count = Math.max(10, Math.ceil((instances * 1.2) / PODS_A_NODE));
    for (let i = 0; i < count; i++) {
      const name = `node-${i}`;
      await core.createNode({ body: { metadata: { name } } });
      await this.#setReady(name, 'True');
      this.#nodes.push(name);
    }
  }

  get count(): number {
    return this.#nodes.length;
  }

  changed(pod: EnginePod, deleted: boolean): void {
    const engine = this.#engines.get(pod.podUid);
    if (engine && (deleted || this.#lost.has(engine.node))) {
      engine.ended ||= deleted;
      if (deleted) this.#engines.delete(pod.podUid);
      return;
    }
    if (deleted) return;
    if (!engine) void this.#run(pod);
    else if (pod.endingSince !== null && !engine.ended) void this.#end(pod, engine);
  }

  /** The power of a tenth of the nodes fails. @returns number of their engines */
  lose(): number {
    for (const node of this.#nodes.slice(0, this.#nodes.length / 10)) this.#lost.add(node);
    const lost = [...this.#engines.values()].filter(({ node }) => this.#lost.has(node));
    for (const { lease } of lost) if (lease) this.options.gateway.lostHolders.add(lease.holder);
    return lost.length;
  }

  /** The control plane gives the lost nodes up. */
  async giveUpLost(): Promise<void> {
    for (const node of this.#lost) await this.#setReady(node, 'Unknown');
  }

  async #setReady(name: string, status: 'True' | 'Unknown'): Promise<void> {
    const conditions = [
      { type: 'Ready', status, reason: 'Bench', lastTransitionTime: new Date().toISOString() },
    ];
    await this.options.core.patchNodeStatus({ name, body: { status: { conditions } } }, PATCH.merge);
  }

  async #run(pod: EnginePod): Promise<void> {
    const { core, namespace } = this.options;
    const healthy = this.#nodes.filter((node) => !this.#lost.has(node));
    const node = healthy[this.#scheduled++ % healthy.length]!;
    const engine: Engine = { node, token: '', lease: null, ended: false };
    this.#engines.set(pod.podUid, engine);
    const place = { namespace, name: pod.shownAs };
    const target = { apiVersion: 'v1', kind: 'Node', name: node };
    const body = { metadata: { name: pod.shownAs }, target };
    await repeat(() => core.createNamespacedPodBinding({ ...place, body }));
    engine.token = await this.#mountToken(pod.name, engine);
    await this.#report(pod, 'Running', { running: { startedAt: new Date() } });
    await pause(this.startMs);
    if (!engine.ended && !this.#lost.has(node)) await this.#connect(pod, engine);
  }

  /** Like a kubelet, waits for a Secret that does not exist yet. */
  async #mountToken(name: string, engine: Engine): Promise<string> {
    const { core, namespace } = this.options;
    while (!engine.ended) {
      try {
        const secret = await core.readNamespacedSecret({ namespace, name });
        return Buffer.from(secret.data!['token']!, 'base64').toString();
      } catch (error) {
        if (!isCode(error, 404)) throw error;
      }
      await pause(RETRY_MS);
    }
    return '';
  }

  async #connect(pod: EnginePod, engine: Engine): Promise<void> {
    const holder = newUuid();
    const terms = await this.#call(engine, 'acquire', { pod: pod.name, version: 'bench', holder });
    engine.lease = { epoch: terms.epoch, holder };
    const paired = { jid: `55${terms.instance.id.replaceAll(/\D/g, '').slice(-11)}:1@s.whatsapp.net` };
    const first = terms.instance.first_paired_at === null;
    const change = {
      state: 'connected' as const,
      at: new Date().toISOString(),
      reason: null,
      ...(first && { paired: { ...paired, business_name: null, platform: null } }),
    };
    await this.#call(engine, 'state', { ...engine.lease, number: 1, changes: [change] });
    this.connections.push(performance.now());
    await this.#report(pod, 'Running', { running: { startedAt: new Date() } }, true);
  }

  async #end(pod: EnginePod, engine: Engine): Promise<void> {
    engine.ended = true;
    const { core, namespace } = this.options;
    if (engine.lease) await this.#call(engine, 'release', engine.lease);
    const at = new Date();
    await this.#report(pod, 'Succeeded', { terminated: { exitCode: 0, startedAt: at, finishedAt: at } });
    await repeat(() => core.deleteNamespacedPod({ namespace, name: pod.shownAs, gracePeriodSeconds: 0 }));
  }

  async #report(pod: EnginePod, phase: string, state: object, ready = false): Promise<void> {
    const container = { name: 'engine', image: 'engine', imageID: '', ready, restartCount: 0, state };
    const body = { status: { phase, containerStatuses: [container] } };
    const place = { namespace: this.options.namespace, name: pod.shownAs };
    await repeat(() => this.options.core.patchNamespacedPodStatus({ ...place, body }, PATCH.merge));
  }

  /** Like an engine, retries until the API answers. */
  async #call<R extends 'acquire' | 'state' | 'release'>(
    { token }: Engine,
    route: R,
    body: EngineRequest<R>,
  ): Promise<EngineResponse<R>> {
    for (;;) {
      const answer = await fetch(`${this.options.gateway.internalUrl}/engine/${route}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }).catch(() => null);
      if (answer?.ok) return (await answer.json()) as EngineResponse<R>;
      await answer?.arrayBuffer();
      await pause(RETRY_MS);
    }
  }
}

const RETRY_MS = 1000;

/** Under load, a call without an answer may have taken effect. A deleted object needs no more reports. */
export async function repeat(call: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await call();
      return;
    } catch (error) {
      if (isCode(error, 404) || (isCode(error, 409) && attempt > 1)) return;
      if (!isCode(error, 0) || attempt === ATTEMPTS) throw error;
    }
  }
}

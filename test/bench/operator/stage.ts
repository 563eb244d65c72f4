import { CoreV1Api, CustomObjectsApi, KubeConfig } from '@kubernetes/client-node';
import { createLogger } from '@gwk/core/process/log';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import { INSTANCES, isCode, KubeClient, PATCH } from '@gwk/core/kubernetes/client';
import { readPod, type EnginePod, type RawPod } from '@gwk/operator/cluster/kubernetes/engine-pod';
import { ENGINE_SELECTOR } from '@gwk/operator/cluster/kubernetes/names';
import { Informer } from '@gwk/operator/cluster/kubernetes/informer';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '@gwk/local/servers/process';
import { TestCluster, instancePath } from '../../support/kubernetes/test-cluster.js';
import { baseEnvironment, GWK, Program } from '../../support/program.js';
import { BenchInternalApi } from './internal-api.js';

export interface Usage {
  rss: number;
  peak: number;
  own: number;
  cpu: number;
}

/** A real API server, a real operator process, and a fake kubelet. */
export class OperatorBench {
  readonly api = new BenchInternalApi();
  readonly readyNames = new Set<string>();
  readonly #scheduled = new Set<string>();
  readonly #folder = mkdtempSync(join(tmpdir(), 'gwk-bench-operator-'));
  #operatorPort = 0;
  #internalUrl = '';
  #onInstance: (name: string, resource: InstanceResource | null) => void = () => undefined;
  namespace = '';
  #client!: KubeClient;
  #core!: CoreV1Api;
  #objects!: CustomObjectsApi;
  #program!: Program;
  #instances!: Informer<InstanceResource, InstanceResource>;
  #watches: { stop: () => Promise<void> }[] = [];

  private constructor(readonly cluster: TestCluster) {}

  static async start(): Promise<OperatorBench> {
    const bench = new OperatorBench(await TestCluster.start({ own: true }));
    bench.namespace = await bench.cluster.namespace('bench');
    const kube = new KubeConfig();
    kube.loadFromFile(bench.cluster.plane.kubeconfig);
    bench.#client = new KubeClient({ kube });
    bench.#core = bench.#client.makeApiClient(CoreV1Api, CALL_TIMEOUT_MS);
    bench.#objects = bench.#client.makeApiClient(CustomObjectsApi, CALL_TIMEOUT_MS);
    await bench.#watch();
    bench.#internalUrl = await bench.api.listen();
    await bench.startOperator();
    return bench;
  }

  async stop(): Promise<void> {
    await this.#program.stop();
    for (const watch of this.#watches) await watch.stop();
    await this.#client.close();
    this.api.close();
    await this.cluster.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async create(name: string): Promise<void> {
    const body = {
      apiVersion: 'gwk.dev/v1',
      kind: 'Instance',
      metadata: { name },
      spec: { account: 'main', kind: 'sandbox' },
    };
    await this.#repeated(() => this.#objects.createNamespacedCustomObject({ ...this.#instancesPlace, body }));
  }

  get #instancesPlace() {
    return { ...INSTANCES, namespace: this.namespace };
  }

  get pid(): number | undefined {
    return this.#program.pid;
  }

  log(): string {
    return this.#program.lastLines();
  }

  /** Time from a change of a resource until its status reflects it. */
  async changeSeen(name: string): Promise<number> {
    const { generation } = this.#present(name).metadata;
    return this.#seen(
      name,
      ({ status }) => (status?.observedGeneration ?? 0) > generation,
      () => {
        const body = { spec: { displayName: `Name ${Math.random()}` } };
        const patch = { ...this.#instancesPlace, name, body };
        return this.#repeated(() => this.#objects.patchNamespacedCustomObject(patch, PATCH.merge));
      },
    );
  }

  /** Time from a state change reported by an engine until the status reflects it. */
  async moveSeen(name: string): Promise<number> {
    const { uid } = this.#present(name).metadata;
    let state = '';
    return this.#seen(
      name,
      ({ status }) => status?.state === state,
      async () => void (state = this.api.move(uid)),
    );
  }

  async #seen(
    name: string,
    isSeen: (resource: InstanceResource) => boolean,
    deed: () => Promise<void>,
  ): Promise<number> {
    const began = performance.now();
    const seen = new Promise<void>((resolve) => {
      this.#onInstance = (changed, resource) => {
        if (changed === name && resource && isSeen(resource)) resolve();
      };
    });
    await deed();
    await seen;
    return performance.now() - began;
  }

  #present(name: string): InstanceResource {
    const resource = this.#instances.get(`${this.namespace}/${name}`);
    if (!resource) throw new Error(`no Instance ${name}`);
    return resource;
  }

  /** Under load, a call without an answer may have taken effect. */
  async #repeated(call: () => Promise<unknown>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await call();
        return;
      } catch (error) {
        if (isCode(error, 409) && attempt > 1) return;
        if (!isCode(error, 0) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  /** Resident bytes now, at most, and anonymous; CPU seconds so far. */
  usage(): Usage {
    const { pid } = this.#program;
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const bytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)![1]) * 1024;
    const cpu = (Number(fields[11]) + Number(fields[12])) / 100;
    return { rss: bytes('VmRSS'), peak: bytes('VmHWM'), own: bytes('RssAnon'), cpu };
  }

  /** Heap and external memory in MB. */
  async heap(): Promise<{ used: number; total: number; external: number }> {
    const text = await this.#metrics();
    const read = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? NaN) / 1e6;
    return {
      used: read('nodejs_heap_size_used_bytes'),
      total: read('nodejs_heap_size_total_bytes'),
      external: read('nodejs_external_memory_bytes'),
    };
  }

  async #metrics(): Promise<string> {
    return (await fetch(`http://127.0.0.1:${this.#operatorPort}/metrics`)).text();
  }

  /** Reconciles so far. */
  async reconciles(): Promise<number> {
    return [...(await this.#metrics()).matchAll(PASS)].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  /** Calls of the Kubernetes API so far, by verb and resource. */
  async calls(): Promise<Map<string, number>> {
    const text = await this.#metrics();
    const calls = new Map<string, number>();
    for (const [, verb, resource, count] of text.matchAll(CALL)) {
      const name = `${verb} ${resource}`;
      calls.set(name, (calls.get(name) ?? 0) + Number(count));
    }
    return calls;
  }

  async stopOperator(): Promise<void> {
    await this.#program.stop();
  }

  /** Starts the operator process; `env` adds to its settings. */
  async startOperator(env: Record<string, string> = {}): Promise<void> {
    const file = (name: string) => join(this.#folder, name);
    writeFileSync(file('profiles.yaml'), 'default: { image: "engine:1" }\n');
    this.#operatorPort = await findFreePort();
    const ready = `http://127.0.0.1:${this.#operatorPort}/readyz`;
    this.#program = new Program({
      name: 'operator',
      args: [GWK, 'operator'],
      logFile: file('operator.log'),
      supervised: false,
      env: { ...baseEnvironment(), ...this.#settings(file('profiles.yaml')), ...env },
      ready: async () => (await fetch(ready)).ok,
    });
    await this.#program.start();
  }

  #settings(profiles: string): Record<string, string> {
    return {
      KUBECONFIG: this.cluster.plane.kubeconfig,
      GWK_OPERATOR_CLUSTER: 'kubernetes',
      GWK_OPERATOR_NAMESPACES: this.namespace,
      GWK_OPERATOR_PROFILES: profiles,
      GWK_OPERATOR_TOKEN: 'x'.repeat(32),
      GWK_OPERATOR_INTERNAL_URL: this.#internalUrl,
      GWK_OPERATOR_HOST: '127.0.0.1',
      GWK_OPERATOR_PORT: String(this.#operatorPort),
    };
  }

  async #watch(): Promise<void> {
    const log = createLogger('bench', 'error');
    const client = this.#client;
    await this.cluster.post('/api/v1/nodes', { metadata: { name: 'bench' } });
    const pods = new Informer<RawPod, EnginePod>({
      client,
      log,
      path: `/api/v1/namespaces/${this.namespace}/pods`,
      list: (page) => this.#core.listNamespacedPod({ namespace: this.namespace, ...page }),
      labelSelector: ENGINE_SELECTOR,
      transform: readPod,
      onChange: (_, pod, deleted) => {
        if (deleted || pod.node !== null || this.#scheduled.has(pod.podUid)) return;
        this.#scheduled.add(pod.podUid);
        void this.#run(pod);
      },
    });
    this.#instances = new Informer<InstanceResource, InstanceResource>({
      client,
      log,
      path: instancePath(this.namespace),
      list: (page) => this.#objects.listNamespacedCustomObject({ ...this.#instancesPlace, ...page }),
      transform: (raw) => raw,
      onChange: (key, resource, deleted) =>
        this.#instanceChanged(key.split('/')[1]!, deleted ? null : resource),
    });
    this.#watches = [pods, this.#instances];
    await Promise.all([pods.start(), this.#instances.start()]);
  }

  #instanceChanged(name: string, resource: InstanceResource | null): void {
    const ready = resource?.status?.conditions.find(({ type }) => type === 'Ready');
    if (ready?.status === 'True') this.readyNames.add(name);
    this.#onInstance(name, resource);
  }

  /** Reports what a scheduler and a kubelet would report. */
  async #run({ shownAs, instanceId, name: engine }: EnginePod): Promise<void> {
    const pod = { namespace: this.namespace, name: shownAs };
    const target = { apiVersion: 'v1', kind: 'Node', name: 'bench' };
    const body = { metadata: { name: shownAs }, target };
    await this.#repeated(() => this.#core.createNamespacedPodBinding({ ...pod, body }));
    const state = { running: { startedAt: new Date().toISOString() } };
    const container = { name: 'engine', image: 'engine:1', imageID: '', ready: true, restartCount: 0, state };
    const status = { status: { phase: 'Running', containerStatuses: [container] } };
    await this.#repeated(() => this.#core.patchNamespacedPodStatus({ ...pod, body: status }, PATCH.merge));
    this.api.runs(instanceId, engine);
  }
}

const ATTEMPTS = 10;
const CALL_TIMEOUT_MS = 60_000;
const PASS = /^gwk_operator_reconciles_total\{[^}]*\} (\d+)$/gm;
const CALL = /^gwk_operator_kubernetes_requests_total\{verb="(\w+)",resource="([^"]+)",code="\d+"\} (\d+)$/gm;

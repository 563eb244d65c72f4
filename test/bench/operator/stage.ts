import { CoreV1Api, CustomObjectsApi, KubeConfig } from '@kubernetes/client-node';
import { createLogger } from '@gwk/core/process/log';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import { INSTANCES, KubeClient, PATCH } from '@gwk/core/kubernetes/client';
import { readPod, type EnginePod, type RawPod } from '@gwk/operator/cluster/kubernetes/engine-pod';
import { ENGINE_SELECTOR } from '@gwk/core/kubernetes/names';
import { Informer } from '@gwk/operator/cluster/kubernetes/informer';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '@gwk/local/servers/process';
import { TestCluster, instancePath } from '../../support/kubernetes/test-cluster.js';
import { listProcesses } from '../../support/processes.js';
import { baseEnvironment, GWK, Program } from '../../support/program.js';
import { Exposition } from '../../support/exposition.js';
import { ACCOUNT, BenchGateway } from './gateway.js';
import { repeat, SimulatedNodes } from './simulated-nodes.js';
import type { Wait } from '../../support/wait.js';

export interface Usage {
  rss: number;
  peak: number;
  own: number;
  cpu: number;
}

/** Real programs (API server, etcd, `gwk operator`, `gwk api`, Postgres, Redis) and simulated nodes. */
export class OperatorBench {
  readonly readyNames = new Set<string>();
  readonly #folder = mkdtempSync(join(tmpdir(), 'gwk-bench-operator-'));
  #operatorPort = 0;
  #onInstance: (name: string, resource: InstanceResource | null) => void = () => undefined;
  namespace = '';
  gateway!: BenchGateway;
  nodes!: SimulatedNodes;
  #client!: KubeClient;
  #core!: CoreV1Api;
  #objects!: CustomObjectsApi;
  #program!: Program;
  #instances!: Informer<InstanceResource, InstanceResource>;
  #watches: { stop: () => Promise<void> }[] = [];

  private constructor(readonly cluster: TestCluster) {}

  /** @param instances that the nodes must have place for */
  static async start(instances: number): Promise<OperatorBench> {
    const bench = new OperatorBench(await TestCluster.start({ own: true }));
    bench.namespace = await bench.cluster.namespace('bench');
    const kube = new KubeConfig();
    kube.loadFromFile(bench.cluster.plane.kubeconfig);
    bench.#client = new KubeClient({ kube });
    bench.#core = bench.#client.makeApiClient(CoreV1Api, CALL_TIMEOUT_MS);
    bench.#objects = bench.#client.makeApiClient(CustomObjectsApi, CALL_TIMEOUT_MS);
    const { namespace } = bench;
    bench.gateway = await BenchGateway.start(namespace);
    bench.nodes = new SimulatedNodes({ core: bench.#core, namespace, gateway: bench.gateway });
    await bench.nodes.start(instances);
    await bench.#watch();
    await bench.startOperator();
    return bench;
  }

  async stop(): Promise<void> {
    await this.#program.stop();
    for (const watch of this.#watches) await watch.stop();
    await this.#client.close();
    await this.gateway.stop();
    await this.cluster.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async create(name: string): Promise<void> {
    const body = {
      apiVersion: 'gwk.dev/v1',
      kind: 'Instance',
      metadata: { name },
      spec: { account: ACCOUNT },
    };
    await repeat(() => this.#objects.createNamespacedCustomObject({ ...this.#instancesPlace, body }));
  }

  get #instancesPlace() {
    return { ...INSTANCES, namespace: this.namespace };
  }

  get pid(): number | undefined {
    return this.#program.pid;
  }

  /** Processes whose CPU time matters. */
  get pids(): Record<string, number | undefined> {
    const { folder } = this.cluster.plane;
    const own = listProcesses().filter(({ command }) => command.includes(folder));
    const find = (program: string) => own.find(({ command }) => command.includes(`/${program} `))?.pid;
    const plane = { etcd: find('etcd'), 'kube-apiserver': find('kube-apiserver') };
    return { operator: this.pid, ...this.gateway.pids, ...plane };
  }

  /** A wait that ends if the operator has exited. */
  wait(what: string): Wait {
    const giveUp = () =>
      this.pid === undefined ? `the operator has exited:\n${this.#program.lastLines()}` : undefined;
    return { what, timeoutMs: WAIT_MS, everyMs: 100, giveUp };
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
        return repeat(() => this.#objects.patchNamespacedCustomObject(patch, PATCH.merge));
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
      async () => void (state = await this.gateway.move(uid)),
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

  metrics(): Promise<Exposition> {
    return Exposition.of(this.#operatorPort);
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

  /** Starts the operator process; `env` adds to its settings, `version` is that of its engines. */
  async startOperator(env: Record<string, string> = {}, version = 1): Promise<void> {
    const file = (name: string) => join(this.#folder, name);
    writeFileSync(file('profiles.yaml'), `default: { image: "engine:${version}" }\n`);
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
      GWK_OPERATOR_TOKEN: this.gateway.settings.operatorToken,
      GWK_OPERATOR_INTERNAL_URL: this.gateway.internalUrl,
      // Each number is paired as soon as its engine runs.
      GWK_OPERATOR_MAX_UNPAIRED_ENGINES: '100000',
      GWK_OPERATOR_HOST: '127.0.0.1',
      GWK_OPERATOR_PORT: String(this.#operatorPort),
    };
  }

  async #watch(): Promise<void> {
    const log = createLogger('bench', 'error');
    const client = this.#client;
    const pods = new Informer<RawPod, EnginePod>({
      client,
      log,
      path: `/api/v1/namespaces/${this.namespace}/pods`,
      list: (page) => this.#core.listNamespacedPod({ namespace: this.namespace, ...page }),
      labelSelector: ENGINE_SELECTOR,
      transform: readPod,
      onChange: (_, pod, deleted) => this.nodes.changed(pod, deleted),
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
    else this.readyNames.delete(name);
    this.#onInstance(name, resource);
  }
}

const CALL_TIMEOUT_MS = 60_000;
const WAIT_MS = 3_600_000;
const PASS = /^gwk_operator_reconciles_total\{[^}]*\} (\d+)$/gm;
const CALL = /^gwk_operator_kubernetes_requests_total\{verb="(\w+)",resource="([^"]+)",code="\d+"\} (\d+)$/gm;

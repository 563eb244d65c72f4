import { KubeConfig } from '@kubernetes/client-node';
import { operatorSettings } from '@gwk/core/config/operator';
import { loadConfig } from '@gwk/core/config/load';
import { createLogger, type Logger } from '@gwk/core/process/log';
import type { RunningOperator } from '@gwk/operator/options';
import { startOnKubernetes, type KubernetesOptions } from '@gwk/operator/program-kubernetes';
import { FakeInternalApi, randomFrom } from '../support/operator/fake-internal-api.js';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { realTime, until } from '../support/wait.js';
import { FaultyApi } from './faulty-api.js';
import { FakeNode, type NodeOptions, type RawEnginePod } from './fake-node.js';
import { instancePath, type KubeObject, type TestCluster } from '../support/kubernetes/test-cluster.js';

/** Only tests that say so wait for its end, and no stall of the machine ends it. */
const LONG_LEASE_MS = 30_000;
/** For lost engines: the operator waits for the end of their lease. */
export const SHORT_LEASE_MS = realTime(3_000);

/** A namespace of a real API server, with real operators, fake nodes and a fake internal API. */
export class OperatorStage {
  readonly logs: string[] = [];
  readonly internalApi: FakeInternalApi;
  readonly kubernetesApi: FaultyApi;
  readonly #folder = mkdtempSync(join(tmpdir(), 'gwk-operator-stage-'));
  readonly #operators: RunningOperator[] = [];
  readonly #nodes: FakeNode[] = [];
  #internalUrl = '';
  #kubernetesUrl = '';

  private constructor(
    readonly cluster: TestCluster,
    readonly namespace: string,
    random: () => number,
  ) {
    this.internalApi = new FakeInternalApi(random);
    this.internalApi.leaseMs = LONG_LEASE_MS;
    this.kubernetesApi = new FaultyApi(cluster, random);
  }

  static async make(cluster: TestCluster, seed = 1): Promise<OperatorStage> {
    const stage = new OperatorStage(cluster, await cluster.namespace(), randomFrom(seed));
    stage.#internalUrl = await stage.internalApi.listen();
    stage.#kubernetesUrl = await stage.kubernetesApi.listen();
    return stage;
  }

  async stop(): Promise<void> {
    for (const operator of this.#operators.splice(0)) await operator.stop();
    for (const node of this.#nodes.splice(0)) await node.stop();
    await this.internalApi.close();
    await this.kubernetesApi.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async node(name = `node-${this.namespace}`, images: NodeOptions['images'] = {}): Promise<FakeNode> {
    const { cluster, namespace } = this;
    const node = new FakeNode({ cluster, namespace, name, apiUrl: this.#internalUrl, images });
    this.#nodes.push(node);
    return node.start();
  }

  async operator(
    given: {
      profiles?: Record<string, object>;
      env?: Record<string, string>;
      options?: KubernetesOptions;
    } = {},
  ): Promise<RunningOperator> {
    const { profiles = { default: { image: 'engine:1' } }, env = {}, options = {} } = given;
    const file = join(this.#folder, `profiles-${this.#operators.length}.yaml`);
    writeFileSync(file, stringify(profiles));
    const config = loadConfig(operatorSettings, {
      GWK_OPERATOR_TOKEN: 'x'.repeat(32),
      GWK_OPERATOR_INTERNAL_URL: this.#internalUrl,
      GWK_OPERATOR_HOST: '127.0.0.1',
      GWK_OPERATOR_PORT: '0',
      GWK_OPERATOR_CLUSTER: 'kubernetes',
      GWK_OPERATOR_PROFILES: file,
      GWK_OPERATOR_NAMESPACES: this.namespace,
      GWK_LOG_LEVEL: 'debug',
      ...env,
    });
    const operator = await startOnKubernetes(config, { ...FAST, kube: this.kube(), ...options }, this.#log());
    this.#operators.push(operator);
    return operator;
  }

  /** Stops an operator within the test. */
  async end(operator: RunningOperator): Promise<void> {
    this.#operators.splice(this.#operators.indexOf(operator), 1);
    await operator.stop();
  }

  /** Access through the faulty proxy. */
  kube(token = this.cluster.plane.token, namespace = this.namespace): KubeConfig {
    const kube = new KubeConfig();
    kube.loadFromOptions({
      clusters: [{ name: 'test', server: this.#kubernetesUrl, skipTLSVerify: true }],
      users: [{ name: 'admin', token }],
      contexts: [{ name: 'test', cluster: 'test', user: 'admin', namespace }],
      currentContext: 'test',
    });
    return kube;
  }

  /** Calls of the operators that the API server has forbidden. */
  refused(): string[] {
    return this.kubernetesApi.seen
      .filter(({ code }) => code === 403)
      .map(({ method, path }) => `${method} ${path}`);
  }

  #log(): Logger {
    return createLogger('operator', 'debug', { write: (line) => void this.logs.push(line) });
  }

  async create(name: string, spec: object = {}): Promise<KubeObject> {
    return this.cluster.applied({
      apiVersion: 'gwk.dev/v1',
      kind: 'Instance',
      metadata: { name, namespace: this.namespace },
      spec: { account: 'main', kind: 'sandbox', ...spec },
    });
  }

  change(name: string, spec: object): Promise<unknown> {
    return this.cluster.merge(instancePath(this.namespace, name), { spec });
  }

  delete(name: string): Promise<unknown> {
    return this.cluster.delete(instancePath(this.namespace, name));
  }

  async instance(name: string): Promise<Shown | null> {
    const { status, body } = await this.cluster.get<Shown>(instancePath(this.namespace, name));
    return status === 200 ? body : null;
  }

  async condition(name: string, type: string): Promise<Condition | undefined> {
    return (await this.instance(name))?.status?.conditions.find((condition) => condition.type === type);
  }

  /** Waits until a condition is `status` or `status/reason`. */
  async untilIs(name: string, type: string, wanted: string): Promise<Condition> {
    let last: Condition | undefined;
    try {
      return await until(
        async () => {
          last = await this.condition(name, type);
          return last && (`${last.status}/${last.reason}` === wanted || last.status === wanted) && last;
        },
        { what: `${type} of ${name} is ${wanted}` },
      );
    } catch (error) {
      const lines = this.logs.slice(-15).join('');
      throw new Error(`${(error as Error).message}; it is ${JSON.stringify(last)}\n${lines}`, {
        cause: error,
      });
    }
  }

  untilGone(name: string): Promise<boolean> {
    return until(async () => (await this.instance(name)) === null, { what: `${name} is gone` });
  }

  pods(): Promise<RawEnginePod[]> {
    return this.cluster.list<RawEnginePod>(`/api/v1/namespaces/${this.namespace}/pods`);
  }

  async pod(name: string): Promise<RawEnginePod | undefined> {
    return (await this.pods()).find(({ metadata }) => metadata.name === `gwk-${name}`);
  }

  async events(name: string): Promise<{ type: string; reason: string; message: string; count: number }[]> {
    type Event = {
      involvedObject: { name: string };
      type: string;
      reason: string;
      message: string;
      count: number;
    };
    const events = await this.cluster.list<Event>(`/api/v1/namespaces/${this.namespace}/events`);
    return events.filter(({ involvedObject }) => involvedObject.name === name);
  }
}

export interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
}

export type Shown = KubeObject & {
  status?: {
    id?: string;
    state?: string;
    engine?: { pod: string; node?: string; version: string };
    lastError?: string;
    conditions: Condition[];
  };
};

/** Short times, since tests wait for results, not for time to pass. */
const FAST: KubernetesOptions = {
  leaseTimeoutMs: realTime(2_000),
  stuckMs: realTime(1_500),
  callTimeoutMs: realTime(2_000),
  backoff: { firstMs: 100, maxMs: 1_000, random: Math.random },
  // Operators release the lease on stop, so no test waits for it, and no stall of the API server ends it.
  leaderTimes: { leaseMs: 30_000, deadlineMs: 20_000, retryMs: 200 },
  watchTimes: { backoffMs: 50, maxBackoffMs: 500 },
  lost: () => undefined,
};

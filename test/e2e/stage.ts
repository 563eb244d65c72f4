import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fromPublicId } from '@gwk/core/ids/ids';
import type { RunningNetwork } from '@gwk/network/start';
import { GatewayClient } from '../support/gateway/client.js';
import { NodeCluster } from '../support/kubernetes/nodes/cluster.js';
import { instancePath, type KubeObject } from '../support/kubernetes/test-cluster.js';
import { ensureHelm } from '../support/chart/helm-binary.js';
import { pushServers } from '../support/images/registry.js';
import { readEdition, rehearse, VERSION, type Edition, type Place, type Step } from '../support/release.js';
import { until } from '../support/wait.js';
import { buildRules, limited, MESH_LABEL } from './strict-cluster.js';
import { WayOut } from './way-out.js';

const execute = promisify(execFile);

/** Everything except engines runs on the first node, so that losing the second one does not affect Postgres. */
export const MAIN_NODE = 'one';
export const ENGINE_NODE = 'two';
export const NAMESPACE = 'gwk';
const RELEASE = 'gwk';
/** Where the release's chart has its images. Nodes look for them in the registry of the cluster. */
const HOME = 'ghcr.io/gwk-dev';

/** An unpaired number keeps its engine that long. */
const IDLE_ENGINE_MS = 10_000;

export const PROGRAMS = ['api', 'worker', 'decoder', 'operator', 'engine'];
const TEST_SERVERS = ['postgres', 'redis'];
const ARCHITECTURE = process.arch === 'arm64' ? 'arm64' : 'amd64';

/** A gateway installed by its chart on a real Kubernetes cluster, with engines on the simulated network. */
export class E2eStage {
  client!: GatewayClient;
  /** The first installed one. */
  first!: Edition;
  readonly #editions = new Map<Step, Promise<Edition>>();

  private constructor(
    readonly cluster: NodeCluster,
    readonly wayOut: WayOut,
    private readonly setup: { helm: string; isSigned: boolean },
    readonly say: (line: string) => void,
  ) {}

  get helm(): string {
    return this.setup.helm;
  }

  get network(): RunningNetwork {
    return this.wayOut.network;
  }

  /**
   * @param first edition to install first: these sources, or the former commit
   * @param isSigned whether the release is signed, and verified when it is installed
   */
  static async start(
    say: (line: string) => void,
    { first = 'unsigned', isSigned = false }: { first?: 'unsigned' | 'former'; isSigned?: boolean } = {},
  ): Promise<E2eStage> {
    const found = await ensureHelm(say);
    if ('missing' in found) throw new Error(found.missing);
    const { helm } = found;
    const cluster = await NodeCluster.start([MAIN_NODE, ENGINE_NODE], say);
    try {
      const stage = new E2eStage(cluster, await WayOut.start(), { helm, isSigned }, say);
      await stage.#prepare(first);
      return stage;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.client?.close();
    await this.wayOut.stop();
    await this.cluster.stop();
  }

  get #place(): Place {
    const { registry: host, blobs, folder } = this.cluster;
    return { host, blobs, work: join(folder, 'release') };
  }

  /** Publishes an edition in the registry of the cluster, once. */
  publish(step: 'unsigned' | 'former' | 'release'): Promise<Edition> {
    const known = this.#editions.get(step);
    if (known) return known;
    const made = rehearse(step, this.#place, this.say).then(() => readEdition(this.#place, step));
    this.#editions.set(step, made);
    // The scenario that needs it reports the error.
    made.catch(() => undefined);
    return made;
  }

  /** Publishes these sources. */
  publishRelease(): Promise<Edition> {
    return this.publish(this.setup.isSigned ? 'release' : 'unsigned');
  }

  /** Copies the images of these sources, for this machine's architecture, to another path of the registry. */
  async copyImages(path: string): Promise<void> {
    const { images } = await this.publishRelease();
    const { registry } = this.cluster;
    for (const [program, digest] of Object.entries(images)) {
      const from = `${registry}${HOME.slice(HOME.indexOf('/'))}/gwk-${program}@${digest}`;
      const to = `${registry}/${path}/gwk-${program}:${VERSION}`;
      await this.#run('crane', ['copy', '--platform', `linux/${ARCHITECTURE}`, from, to]);
    }
  }

  /** Expects that changed parts of the release are refused, and that it can be built again. */
  async refuseChanges(): Promise<string> {
    await this.publishRelease();
    const lines: string[] = [];
    await rehearse('refuse', this.#place, (line) => lines.push(line));
    const count = (text: string) => lines.filter((line) => line.includes(text)).length;
    for (const line of lines) this.say(line);
    return `${count('refused: ')} changes refused, ${count('same bytes: ')} files built twice with the same bytes`;
  }

  /** Installs these sources; a signed release after a verification, as docs/verify.md says. */
  async installRelease(): Promise<void> {
    if (!this.setup.isSigned) return this.install(await this.publishRelease());
    const values = join(this.#place.work, 'stranger/values.yaml');
    writeFileSync(values, JSON.stringify(this.#values()));
    const env = { KUBECONFIG: this.cluster.plane.kubeconfig, NAMESPACE };
    await rehearse('install', this.#place, this.say, env);
  }

  async kubectl(...args: string[]): Promise<string> {
    const command = join(this.cluster.programs.kubernetes, 'kubectl');
    return this.#run(command, ['-n', NAMESPACE, ...args]);
  }

  /** Runs `gwk` in a pod of the API, like an operator of the gateway. */
  async gwk<T>(...args: string[]): Promise<T> {
    const text = await this.kubectl('exec', `deploy/${RELEASE}-api`, '-c', 'api', '--', 'gwk', ...args);
    return JSON.parse(text) as T;
  }

  async install({ chart }: Edition, ...more: string[]): Promise<void> {
    const values = join(this.cluster.folder, 'values.json');
    writeFileSync(values, JSON.stringify(this.#values()));
    const wait = ['--wait', '--timeout', '5m'];
    await this.#run(this.helm, [
      ...['upgrade', '--install', RELEASE, chart, '--plain-http', '-n', NAMESPACE],
      ...['-f', values, ...wait, ...more],
    ]);
  }

  /** Removes the release, its Instances and the CRD, so that another release can be installed. */
  async uninstall(): Promise<void> {
    await this.kubectl('delete', 'gwi', '--all', '--timeout=2m');
    await this.#run(this.helm, ['uninstall', RELEASE, '-n', NAMESPACE, '--wait', '--timeout', '2m']);
    await this.kubectl('delete', 'crd', 'instances.gwk.dev');
  }

  /** Runs `helm test`. Its hook runs in the cluster. */
  async helmTest(): Promise<string> {
    const said = await this.#run(this.helm, ['test', RELEASE, '-n', NAMESPACE, '--timeout', '2m']);
    if (!/^Phase:\s+Succeeded$/m.test(said)) throw new Error(`helm test: ${said}`);
    return 'succeeded';
  }

  /** End of the instance's lease, from its row (milliseconds since 1970). */
  async leaseEnd(instanceId: string): Promise<number> {
    const script = `
      const { readFileSync } = require('node:fs');
      const { Client } = require('node:module').createRequire('/app/api/package.json')('pg');
      const url = readFileSync(process.env.DATABASE_URL_FILE, 'utf8').trim();
      const client = new Client({ connectionString: url });
      client.connect()
        .then(() => client.query('SELECT expires_at FROM instance_leases WHERE instance_id = $1', [process.argv[1]]))
        .then(({ rows }) => console.log(rows[0].expires_at.toISOString()))
        .then(() => client.end());`;
    const inside = ['exec', `deploy/${RELEASE}-api`, '-c', 'api', '--', '/usr/bin/node', '-e', script];
    return Date.parse((await this.kubectl(...inside, fromPublicId('instance', instanceId)!)).trim());
  }

  /**
   * Creates an account and its client, which uses the address of the Service, like other programs in the cluster.
   */
  async openClient(): Promise<void> {
    await this.gwk('account', 'create', 'main', '--requests-per-minute', '1000000');
    const policy = {
      messages_per_minute: 6000,
      new_contacts_per_day: 100_000,
      mass_block: { max_contacts: 10_000, window_minutes: 1 },
    };
    await this.gwk('policy', 'set', '--account', 'main', '--json', JSON.stringify(policy));
    const key = await this.gwk<{ api_key: string }>('key', 'create', '--account', 'main', '--scopes', 'all');
    const service = await this.object<{ spec: { clusterIP: string } }>('services', `${RELEASE}-api`);
    this.client = new GatewayClient(`http://${service.spec.clusterIP}`, key.api_key);
  }

  async object<T = KubeObject>(plural: string, name: string): Promise<T & KubeObject> {
    const root = plural === 'deployments' ? '/apis/apps/v1' : '/api/v1';
    const { status, body } = await this.cluster.admin.get<T & KubeObject>(
      `${root}/namespaces/${NAMESPACE}/${plural}/${name}`,
    );
    if (status !== 200) throw new Error(`${plural} ${name}: ${status}`);
    return body;
  }

  pods(selector = ''): Promise<PodSeen[]> {
    const query = selector === '' ? '' : `?labelSelector=${encodeURIComponent(selector)}`;
    return this.cluster.admin.list<PodSeen>(`/api/v1/namespaces/${NAMESPACE}/pods${query}`);
  }

  async pod(name: string): Promise<PodSeen | undefined> {
    return (await this.pods()).find(({ metadata }) => metadata.name === name);
  }

  component(name: string): Promise<PodSeen[]> {
    return this.pods(`app.kubernetes.io/component=${name}`);
  }

  async instance(name: string): Promise<InstanceSeen> {
    return (await this.cluster.admin.get<InstanceSeen>(instancePath(NAMESPACE, name))).body;
  }

  untilReady(name: string, timeoutMs = 120_000): Promise<InstanceSeen> {
    return until(
      async () => {
        const instance = await this.instance(name);
        const ready = instance.status?.conditions.find(({ type }) => type === 'Ready');
        return ready?.status === 'True' && instance;
      },
      { what: `${name} is ready`, timeoutMs, everyMs: 100 },
    );
  }

  /** State of the cluster and the last errors in its logs, for the report of a failed scenario. */
  async describeState(): Promise<string> {
    const asked = [
      ['get', 'pods,gwi,jobs', '-A', '-o', 'wide'],
      ['get', 'events', '-A', '--sort-by=.lastTimestamp'],
    ];
    const said = await Promise.all(asked.map((args) => this.kubectl(...args).catch(String)));
    const lines = said.flatMap((text) => text.trimEnd().split('\n').slice(-25));
    const logs = await Promise.all(
      ['api', 'operator', 'worker', 'test'].map((name) =>
        this.kubectl('logs', '-l', `app.kubernetes.io/component=${name}`, '--tail=200').catch(String),
      ),
    );
    const complaints = logs.flatMap((text) =>
      text
        .split('\n')
        .filter((line) => !line.includes('"level":"info"'))
        .slice(-10),
    );
    return [...lines, ...complaints].join('\n');
  }

  async #prepare(first: 'unsigned' | 'former'): Promise<void> {
    const { cluster } = this;
    mkdirSync(this.#place.work);
    const published = this.publish(first);
    await pushServers(cluster.registry, TEST_SERVERS);
    this.first = await published;
    await cluster.admin.post('/api/v1/namespaces', { metadata: { name: NAMESPACE } });
    const objects = [...buildRules(NAMESPACE), ...this.wayOut.objects(NAMESPACE)];
    for (const object of objects) await cluster.admin.applied(object);
    for (const name of ['media', 'postgres', 'redis']) await this.makeVolume(name);
    await this.kubectl('taint', 'node', ENGINE_NODE, 'gwk.test/engines=only:NoSchedule');
  }

  /** PersistentVolumes, in place of a provisioner. */
  async makeVolume(name: string, storageClassName = ''): Promise<void> {
    const path = join(this.cluster.folder, name);
    mkdirSync(path);
    chmodSync(path, 0o777);
    await this.cluster.admin.post('/api/v1/persistentvolumes', {
      metadata: { name },
      spec: {
        capacity: { storage: '10Gi' },
        accessModes: ['ReadWriteOnce', 'ReadWriteMany'],
        storageClassName,
        persistentVolumeReclaimPolicy: 'Retain',
        hostPath: { path },
      },
    });
  }

  #values(): object {
    const nodeSelector = { 'gwk.test/node': MAIN_NODE };
    const small = limited('512Mi');
    const { api, worker, operator, ...wayOut } = this.wayOut.values();
    return {
      ...wayOut,
      userIds: 'assigned',
      jobs: { podLabels: MESH_LABEL, resources: small },
      migrations: { resources: small, waitResources: small },
      demo: { enabled: true, postgres: { resources: small }, redis: { resources: small } },
      media: { folder: { storageClassName: '-' } },
      api: { ...api, nodeSelector, resources: small },
      worker: { ...worker, nodeSelector, replicas: 1, resources: small, decoder: { resources: small } },
      operator: {
        ...operator,
        settings: { ...operator.settings, GWK_OPERATOR_IDLE_ENGINE_MS: IDLE_ENGINE_MS },
        nodeSelector,
        resources: small,
      },
      engine: {
        profiles: {
          default: {
            resources: small,
            tolerations: [{ key: 'gwk.test/engines', operator: 'Exists' }],
            affinity: { nodeAffinity: PREFER_ENGINE_NODE },
          },
        },
      },
    };
  }

  async #run(command: string, args: string[]): Promise<string> {
    const env = { ...process.env, KUBECONFIG: this.cluster.plane.kubeconfig, HOME: this.cluster.folder };
    try {
      return (await execute(command, args, { env, maxBuffer: 2 ** 26 })).stdout;
    } catch (error) {
      const { stderr, stdout } = error as { stderr?: string; stdout?: string };
      throw new Error(`${command} ${args.join(' ')}: ${stderr || stdout || (error as Error).message}`, {
        cause: error,
      });
    }
  }
}

const PREFER_ENGINE_NODE = {
  preferredDuringSchedulingIgnoredDuringExecution: [
    {
      weight: 100,
      preference: { matchExpressions: [{ key: 'gwk.test/node', operator: 'In', values: [ENGINE_NODE] }] },
    },
  ],
};

/** Name of an image of an edition, as its chart names it. */
export const nameImage = ({ version, images }: Edition, program: string): string =>
  `${HOME}/gwk-${program}:${version}@${images[program]}`;

export type PodSeen = KubeObject & {
  metadata: { uid: string; creationTimestamp: string };
  spec: { nodeName?: string; containers: { image: string }[] };
  status: { phase: string; conditions?: { type: string; status: string }[] };
};

export type InstanceSeen = KubeObject & {
  metadata: { uid: string; creationTimestamp: string };
  status?: {
    id?: string;
    state?: string;
    engine?: { pod: string; node?: string; version: string; startedAt: string };
    conditions: { type: string; status: string; reason: string; message: string }[];
  };
};

import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../program.js';
import { until } from '../wait.js';
import { findBinaries } from './binaries.js';
import { startControlPlane, type ControlPlane } from './control-plane.js';
import { call } from './rest.js';

/** Address of the control plane that all test files of a run share. */
export const KUBERNETES_VARIABLE = 'TEST_KUBERNETES';

export type KubeObject = {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    generation?: number;
    deletionTimestamp?: string;
    finalizers?: string[];
    [key: string]: unknown;
  };
  [key: string]: unknown;
};

export interface KubeAnswer<T = KubeObject> {
  status: number;
  body: T & { message?: string; reason?: string };
}

const SERVER_SIDE_APPLY = 'application/apply-patch+yaml';
const CRD = join(ROOT, 'crds/gwk.dev_instances.yaml');

/** A Kubernetes cluster for tests: its REST API, as its administrator. */
export class TestCluster {
  readonly #stop: () => Promise<void>;

  private constructor(
    readonly plane: Omit<ControlPlane, 'stop'>,
    stop: () => Promise<void>,
  ) {
    this.#stop = stop;
  }

  /** Connects to the control plane of the run, or starts one for this test file. */
  static async start(options: { controllers?: boolean; own?: boolean } = {}): Promise<TestCluster> {
    const shared = process.env[KUBERNETES_VARIABLE];
    if (shared && !options.own)
      return new TestCluster(JSON.parse(shared) as ControlPlane, () => Promise.resolve());
    const found = findBinaries();
    if ('missing' in found) throw new Error(found.missing);
    const folder = mkdtempSync(join(tmpdir(), 'gwk-kubernetes-'));
    const remove = () => rmSync(folder, { recursive: true, force: true });
    try {
      const plane = await startControlPlane({
        binaries: found.binaries,
        folder,
        controllers: options.controllers ?? false,
      });
      const cluster = new TestCluster(plane, async () => {
        await plane.stop();
        remove();
      });
      await cluster.prepare();
      return cluster;
    } catch (error) {
      remove();
      throw error;
    }
  }

  /** Uses a control plane that the caller starts and stops. */
  static over(plane: Omit<ControlPlane, 'stop'>): TestCluster {
    return new TestCluster(plane, () => Promise.resolve());
  }

  stop(): Promise<void> {
    return this.#stop();
  }

  /** Installs the CRD of Instance. */
  async prepare(): Promise<void> {
    await this.applied(parse(readFileSync(CRD, 'utf8')) as KubeObject);
    await until(async () => (await this.get('/apis/gwk.dev/v1/instances')).status === 200, {
      what: 'instances are served',
    });
  }

  async call<T = KubeObject>(
    method: string,
    path: string,
    given: { body?: unknown; type?: string; token?: string } = {},
  ): Promise<KubeAnswer<T>> {
    const { url, ca, token } = this.plane;
    const { status, text } = await call(`${url}${path}`, { method, ca, token, ...given });
    return { status, body: parseJson(text) as KubeAnswer<T>['body'] };
  }

  get<T = KubeObject>(path: string): Promise<KubeAnswer<T>> {
    return this.call('GET', path);
  }

  list<T = KubeObject>(path: string): Promise<T[]> {
    return this.get<{ items: T[] }>(path).then(({ body }) => body.items);
  }

  post<T = KubeObject>(path: string, body: unknown): Promise<KubeAnswer<T>> {
    return this.call('POST', path, { body });
  }

  merge(path: string, body: unknown): Promise<KubeAnswer> {
    return this.call('PATCH', path, { body, type: 'application/merge-patch+json' });
  }

  delete(path: string, body?: unknown): Promise<KubeAnswer> {
    return this.call('DELETE', path, { ...(body !== undefined && { body }) });
  }

  apply(path: string, body: unknown, manager = 'test'): Promise<KubeAnswer> {
    return this.call('PATCH', `${path}?fieldManager=${manager}&force=true`, {
      body,
      type: SERVER_SIDE_APPLY,
    });
  }

  async applied(object: KubeObject): Promise<KubeObject> {
    const { status, body } = await this.apply(objectPath(object), object);
    if (status >= 300)
      throw new Error(`${object.kind} ${object.metadata.name}: ${status} ${String(body.message)}`);
    return body;
  }

  /** Creates a namespace that enforces the restricted Pod Security Standard. */
  async namespace(prefix = 'test'): Promise<string> {
    // Eight digits in a row would be a phone number, which reports for support hide.
    const name = `${prefix}-${randomBytes(4).toString('hex').replace(/^.{4}/, '$&x')}`;
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    const made = await this.post('/api/v1/namespaces', { metadata: { name, labels } });
    if (made.status !== 201) throw new Error(`namespace ${name}: ${made.status}`);
    // The controller creates it if one runs.
    await this.post(`/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: 'default' } });
    return name;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { message: text };
  }
}

const PLURALS: Record<string, string> = {
  MutatingAdmissionPolicy: 'mutatingadmissionpolicies',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  NetworkPolicy: 'networkpolicies',
  Ingress: 'ingresses',
  StorageClass: 'storageclasses',
};
const CLUSTER_WIDE = new Set([
  'CustomResourceDefinition',
  'ClusterRole',
  'ClusterRoleBinding',
  'Namespace',
  'Node',
  'PriorityClass',
  'StorageClass',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
]);

export function objectPath({ apiVersion = 'v1', kind = '', metadata }: KubeObject): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`;
  const place = CLUSTER_WIDE.has(kind) ? '' : `/namespaces/${metadata.namespace ?? 'default'}`;
  return `${root}${place}/${plural}/${metadata.name}`;
}

export const instancePath = (namespace: string, name = ''): string =>
  `/apis/gwk.dev/v1/namespaces/${namespace}/instances${name === '' ? '' : `/${name}`}`;

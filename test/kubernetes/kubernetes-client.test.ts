import { install } from '@sinonjs/fake-timers';
import { FaultyApi } from './faulty-api.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { CoreV1Api, CustomObjectsApi, KubeConfig, V1MicroTime } from '@kubernetes/client-node';
import { createRequire } from 'node:module';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeClient, KubeError, PATCH } from '@gwk/core/kubernetes/client';
import { LeaderElector, type LeaderTimes } from '@gwk/operator/cluster/kubernetes/leader-election';
import { recordingLog, temporaryFolder } from '../support/operator/folder.js';
import { realTime, until } from '../support/wait.js';

test('uses the version of client-node whose flaws are known', () => {
  const entry = createRequire(import.meta.url).resolve('@kubernetes/client-node');
  const { version } = createRequire(import.meta.url)(join(entry, '../../package.json')) as {
    version: string;
  };
  expect(version).toBe('2.0.1');
});

describeOnKubernetes('the Kubernetes client', (cluster) => {
  let api: FaultyApi;
  let namespace: string;
  let server: string;
  const clients: KubeClient[] = [];

  beforeEach(async () => {
    api = new FaultyApi(cluster());
    namespace = await cluster().namespace();
    server = await api.listen();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
    await api.close();
  });

  function client(user: object = { token: cluster().plane.token }, counted: string[] = []): KubeClient {
    const kube = new KubeConfig();
    kube.loadFromClusterAndUser({ name: 'test', server, skipTLSVerify: true }, { name: 'admin', ...user });
    const onCall = (verb: string, resource: string, code: number) =>
      counted.push(`${verb} ${resource} ${code}`);
    const made = new KubeClient({ kube, timeoutMs: 1000, onCall });
    clients.push(made);
    return made;
  }

  const secured = () => {
    const kube = new KubeConfig();
    kube.loadFromFile(cluster().plane.kubeconfig);
    const made = new KubeClient({ kube });
    clients.push(made);
    return made;
  };
  const maps = () => `/api/v1/namespaces/${namespace}/configmaps`;
  const core = (of: KubeClient) => of.makeApiClient(CoreV1Api);
  const list = (by: KubeClient) => core(by).listNamespacedConfigMap({ namespace });
  const read = (by: KubeClient, name: string) => core(by).readNamespacedConfigMap({ namespace, name });
  const create = (name: string, by = client()) =>
    core(by).createNamespacedConfigMap({ namespace, body: { metadata: { name } } });

  test("verifies the server's certificate", async () => {
    await expect(list(secured())).resolves.toMatchObject({ kind: 'ConfigMapList' });
    const kube = new KubeConfig();
    kube.loadFromClusterAndUser(
      { name: 'test', server: cluster().plane.url, skipTLSVerify: false },
      { name: 'a', token: 'b' },
    );
    const trusting = new KubeClient({ kube });
    await expect(list(trusting)).rejects.toMatchObject({ code: 0, reason: 'NoAnswer' });
  });

  test('keeps connections between calls', async () => {
    const one = client();
    for (let i = 0; i < 10; i++) await list(one);
    expect(api.connections).toBeLessThanOrEqual(2);
  });

  test('owns fields by server-side apply and keeps those of others', async () => {
    const apply = (manager: string, data: object) =>
      core(client()).patchNamespacedConfigMap(
        {
          namespace,
          name: 'shared',
          fieldManager: manager,
          force: true,
          body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'shared' }, data },
        },
        PATCH.apply,
      );
    await apply('one', { a: '1' });
    expect((await apply('two', { b: '2' })).data).toEqual({ a: '1', b: '2' });
    expect((await apply('one', {})).data).toEqual({ b: '2' });
    expect(api.writes().map(({ type }) => type)).toEqual(Array(3).fill('application/apply-patch+yaml'));
  });

  test('reports the code and the reason of an error', async () => {
    await expect(read(client(), 'nothing')).rejects.toMatchObject({
      code: 404,
      reason: 'NotFound',
    });
    await create('kube-root-ca.crt').catch(() => undefined);
    await expect(create('kube-root-ca.crt')).rejects.toMatchObject({
      code: 409,
      reason: 'AlreadyExists',
    });
  });

  test('reports the code of an answer that is not JSON', async () => {
    api.instead = () => ({ code: 502, body: '<html>bad gateway</html>' });
    await expect(list(client())).rejects.toMatchObject({ code: 502, reason: 'Unknown' });
  });

  test('reports code 0 without an answer, when the call may have taken effect', async () => {
    api.faults = { ...api.faults, after: 1 };
    const call = create('made');
    await expect(call).rejects.toEqual(expect.any(KubeError));
    await expect(call).rejects.toMatchObject({ code: 0 });
    expect((await cluster().get(`${maps()}/made`)).status).toBe(200);
  });

  test('reads the token file again when it rotates', async () => {
    const folder = temporaryFolder();
    const tokenFile = join(folder.path, 'token');
    writeFileSync(tokenFile, 'not yet a token');
    const kubeUser = { authProvider: { name: 'tokenFile', config: { tokenFile } } };
    const one = client(kubeUser);
    await expect(list(one)).rejects.toMatchObject({ code: 401 });
    writeFileSync(tokenFile, cluster().plane.token);
    // client-node reads it once a minute.
    const ahead = install({ now: Date.now() + 61_000, toFake: ['Date'] });
    try {
      await expect(list(one)).resolves.toBeDefined();
    } finally {
      ahead.uninstall();
      folder.remove();
    }
  });

  test('uses the rotating token and the pinned certificate of the service account', async () => {
    const folder = temporaryFolder();
    const place = join(folder.path, 'var/run/secrets/kubernetes.io/serviceaccount');
    mkdirSync(place, { recursive: true });
    const write = (name: string, text: string) => writeFileSync(join(place, name), text);
    write('token', 'not yet a token');
    write('namespace', namespace);
    write('ca.crt', cluster().plane.ca);
    const { hostname, port } = new URL(cluster().plane.url);
    Object.assign(process.env, { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port });
    const kube = new KubeConfig();
    kube.loadFromCluster(folder.path);
    delete process.env['KUBERNETES_SERVICE_HOST'];
    delete process.env['KUBERNETES_SERVICE_PORT'];
    const one = new KubeClient({ kube });
    clients.push(one);
    expect(one.namespace).toBe(namespace);
    await expect(list(one)).rejects.toMatchObject({ code: 401 });
    write('token', cluster().plane.token);
    const ahead = install({ now: Date.now() + 61_000, toFake: ['Date'] });
    try {
      await expect(list(one)).resolves.toMatchObject({ kind: 'ConfigMapList' });
    } finally {
      ahead.uninstall();
      folder.remove();
    }
  });

  test('counts calls by resource, never by name', async () => {
    const counted: string[] = [];
    const one = client(undefined, counted);
    await list(one);
    await read(one, 'nothing').catch(() => undefined);
    await core(one).listNode();
    const instance = { group: 'gwk.dev', version: 'v1', plural: 'instances', namespace, name: 'x' };
    await one
      .makeApiClient(CustomObjectsApi)
      .getNamespacedCustomObjectStatus(instance)
      .catch(() => undefined);
    expect(counted).toEqual([
      'GET configmaps 200',
      'GET configmaps 404',
      'GET nodes 200',
      'GET instances/status 404',
    ]);
  });
});

describeOnKubernetes('leader election', (cluster) => {
  /** So long that no stall of the machine or the API server ends it. */
  const LONG: LeaderTimes = { leaseMs: realTime(600_000), deadlineMs: realTime(400_000), retryMs: 100 };
  let namespace: string;
  let api: FaultyApi;
  /** Candidates that became leader or gave up, in order. */
  let changes: string[];
  const leaders: LeaderElector[] = [];
  const clients: KubeClient[] = [];

  beforeEach(async () => {
    namespace = await cluster().namespace();
    api = new FaultyApi(cluster());
    changes = [];
  });
  afterEach(async () => {
    for (const leader of leaders.splice(0)) await leader.stop();
    for (const client of clients.splice(0)) await client.close();
    await api.close().catch(() => undefined);
  });

  async function candidate(
    identity: string,
    times: LeaderTimes,
    through?: FaultyApi,
  ): Promise<LeaderElector> {
    const kube = new KubeConfig();
    if (through) {
      const server = await through.listen();
      kube.loadFromClusterAndUser(
        { name: 'test', server, skipTLSVerify: true },
        { name: 'a', token: cluster().plane.token },
      );
    } else kube.loadFromFile(cluster().plane.kubeconfig);
    const client = new KubeClient({ kube });
    clients.push(client);
    const leader = new LeaderElector({ client, namespace, name: 'op', identity, log: recordingLog(), times });
    leaders.push(leader);
    leader.start(
      () => void changes.push(`${identity} leads`),
      () => void changes.push(`${identity} gave up`),
    );
    return leader;
  }
  const lease = async () => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/op`;
    return (await cluster().get<{ spec: Record<string, unknown> }>(path)).body.spec;
  };

  test('elects one of several candidates and names it in the lease', async () => {
    const times = { leaseMs: 8_000, deadlineMs: 6_500, retryMs: 100 };
    await Promise.all(['a', 'b', 'c'].map((name) => candidate(name, times)));
    const outlived = async () => {
      if (changes.length === 0) return false;
      const { acquireTime, renewTime } = await lease();
      return Date.parse(String(renewTime)) - Date.parse(String(acquireTime)) > times.leaseMs;
    };
    await until(outlived, { what: 'its renewed lease has outlived one duration' });
    expect(changes).toHaveLength(1);
    const { holderIdentity, renewTime, leaseTransitions } = await lease();
    expect([changes, leaseTransitions]).toEqual([[`${String(holderIdentity)} leads`], 0]);
    expect(renewTime).toMatch(/\.\d{6}Z$/);
  });

  test('releases the lease on stop, so that another leads at once', async () => {
    const first = await candidate('a', LONG);
    await until(() => first.leading, { what: 'a leads' });
    const second = await candidate('b', LONG);
    await first.stop();
    // The lease would last longer than any test waits.
    await until(() => second.leading, { what: 'b leads' });
  });

  test('gives up without the API server before another can lead', async () => {
    const times = { leaseMs: realTime(1500), deadlineMs: realTime(900), retryMs: 100 };
    await candidate('a', times, api);
    await until(() => changes.includes('a leads'), { what: 'a leads' });
    await candidate('b', times);
    api.instead = () => ({ code: 503, body: '' });
    await until(() => changes.includes('b leads'), { what: 'b leads' });
    expect(changes.slice(0, 3)).toEqual(['a leads', 'a gave up', 'b leads']);
    expect((await lease())['leaseTransitions']).toBe(1);
  });

  test('formats times with six fractional digits', () => {
    expect(JSON.stringify(new V1MicroTime('2026-03-01T12:00:00.123Z'))).toBe('"2026-03-01T12:00:00.123000Z"');
  });
});

import { FaultyApi } from './faulty-api.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { recordingLog } from '../support/operator/folder.js';
import { pause, until } from '../support/wait.js';
import { KubeClient } from '@gwk/core/kubernetes/client';
import { Informer, type KubeObject, type WatchTimes } from '@gwk/operator/cluster/kubernetes/informer';

type ConfigMap = KubeObject & { data?: Record<string, string> };

/** Each failure of a watch on a real API server. */
describeOnKubernetes('an informer', (cluster) => {
  let api: FaultyApi;
  let namespace: string;
  let client: KubeClient;
  let informer: Informer<ConfigMap, string>;
  let changes: string[];

  beforeEach(async () => {
    api = new FaultyApi(cluster());
    namespace = await cluster().namespace();
    const server = await api.listen();
    const kube = new KubeConfig();
    kube.loadFromClusterAndUser(
      { name: 'test', server, skipTLSVerify: true },
      { name: 'admin', token: cluster().plane.token },
    );
    client = new KubeClient({ kube });
    changes = [];
  });

  afterEach(async () => {
    await informer.stop();
    await client.close();
    await api.close();
  });

  const path = (name = '') => `/api/v1/namespaces/${namespace}/configmaps${name && `/${name}`}`;
  const put = (name: string, value: string): Promise<object> =>
    cluster().applied({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace },
      data: { value },
    });
  const remove = (name: string) => cluster().delete(path(name));
  const seen = (): Record<string, string | undefined> => {
    const entries = [...informer.names()].map((name): [string, string | undefined] => [
      name.split('/')[1] ?? '',
      informer.get(name),
    ]);
    return Object.fromEntries(entries);
  };

  async function start(times: Partial<WatchTimes> = {}): Promise<void> {
    const core = client.makeApiClient(CoreV1Api);
    const known = new Map<string, string>();
    informer = new Informer<ConfigMap, string>({
      client,
      path: path(),
      list: (page) => core.listNamespacedConfigMap({ namespace, ...page }),
      log: recordingLog(),
      transform: ({ data }) => data?.['value'] ?? null,
      onChange: (name, value, deleted) => {
        changes.push(`${name.split('/')[1]} ${known.get(name) ?? '-'} ${deleted ? '-' : value}`);
        known.set(name, value);
      },
      times: { backoffMs: 20, maxBackoffMs: 100, ...times },
    });
    await informer.start();
  }

  const shows = (wanted: object) =>
    until(() => JSON.stringify(seen()) === JSON.stringify(wanted), {
      what: `${JSON.stringify(wanted)} is seen`,
    });

  test('lists in pages and follows changes', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await put(name, '1');
    await start({ pageSize: 2 });
    expect(seen()).toEqual({ a: '1', b: '1', c: '1', d: '1', e: '1' });
    expect(api.seen.filter(({ query }) => query.has('limit'))).toHaveLength(3);
    await put('a', '2');
    await remove('b');
    await shows({ a: '2', c: '1', d: '1', e: '1' });
    // A deletion first reports the final state.
    expect(changes.slice(-3)).toEqual(['a 1 2', 'b 1 1', 'b 1 -']);
  });

  test('resumes after a TCP reset without a list', async () => {
    await start();
    await until(() => api.watches === 1, { what: 'it watches' });
    api.resetWatches();
    await put('a', '1');
    await shows({ a: '1' });
    expect(informer.relists).toBe(1);
    expect(informer.failures).toBe(1);
  });

  test('resumes after server errors, and lists again when they last', async () => {
    await start();
    await until(() => api.watches === 1, { what: 'it watches' });
    let errors = 0;
    api.instead = ({ query }) =>
      query.get('watch') === 'true' && errors++ < 5
        ? { code: 500, body: '<html>not JSON</html>' }
        : undefined;
    api.resetWatches();
    await put('a', '1');
    await shows({ a: '1' });
    expect(errors).toBeGreaterThanOrEqual(2);
    expect(informer.relists).toBeGreaterThan(1);
  });

  test('lists again after a 410 and notices deletions', async () => {
    await put('a', '1');
    await put('b', '1');
    await start();
    await until(() => api.watches === 1, { what: 'it watches' });
    let gone = 0;
    api.instead = ({ query }) => {
      if (query.get('watch') !== 'true' || gone++ > 0) return undefined;
      return { code: 410, body: JSON.stringify({ kind: 'Status', code: 410, reason: 'Expired' }) };
    };
    api.mute = true;
    await remove('a');
    api.mute = false;
    api.resetWatches();
    await shows({ b: '1' });
    expect(changes.at(-1)).toBe('a 1 -');
  });

  test('lists again after a 410 in the stream', async () => {
    await start();
    await until(() => api.watches === 1, { what: 'it watches' });
    const event = {
      type: 'ERROR',
      object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' },
    };
    let said = 0;
    api.instead = ({ query }) =>
      query.get('watch') === 'true' && said++ === 0
        ? { code: 200, body: `${JSON.stringify(event)}\n` }
        : undefined;
    api.resetWatches();
    await put('a', '1');
    await shows({ a: '1' });
    expect(informer.relists).toBe(2);
  });

  test('restarts a watch that delivers nothing although its connection is open', async () => {
    await start({ idleTimeoutMs: 300 });
    await until(() => api.watches === 1, { what: 'it watches' });
    api.mute = true;
    await put('a', '1');
    await until(() => informer.failures > 0, { what: 'it gave up on the muted watch' });
    api.mute = false;
    await shows({ a: '1' });
  });

  test('lists again periodically to recover a lost event', async () => {
    await start({ relistMs: 200 });
    await until(() => api.watches === 1, { what: 'it watches' });
    api.mute = true;
    await put('a', '1');
    await until(() => api.seen.length > 1, { what: 'the event is lost' });
    api.mute = false;
    // The server ends watches every few minutes; here the network does.
    await pause(250);
    api.resetWatches();
    await shows({ a: '1' });
  });

  test('starts as soon as the server is available', async () => {
    let attempts = 0;
    api.instead = () => (attempts++ < 4 ? { code: 503, body: 'starting' } : undefined);
    await put('a', '1');
    await start();
    expect(seen()).toEqual({ a: '1' });
  });

  test('applies the answer to an own write before its event, and ignores an older one', async () => {
    const first = await put('a', '1');
    await start();
    await until(() => api.watches === 1, { what: 'it watches' });
    api.mute = true;
    const second = await put('a', '2');
    informer.applyWrite(second as ConfigMap);
    expect(seen()).toEqual({ a: '2' });
    informer.applyWrite(first as ConfigMap);
    expect(seen()).toEqual({ a: '2' });
  });

  test('keeps a quiet watch open', async () => {
    await start();
    await until(() => api.watches === 1, { what: 'it watches' });
    // client-node would end it after 30 s.
    await pause(33_000);
    expect([api.watches, informer.failures, informer.relists]).toEqual([1, 0, 1]);
    await put('a', '1');
    await shows({ a: '1' });
  });
});

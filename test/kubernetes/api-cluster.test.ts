import { rotatingSecret, loadConfig } from '@gwk/core/config/load';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ResourceConflict, RestCluster } from '@gwk/api/instances/resource-client';

/** The rights of the API, as the chart grants them. */
const RULES = [
  { apiGroups: ['gwk.dev'], resources: ['instances'], verbs: ['get', 'create', 'patch', 'delete'] },
];

describeOnKubernetes('Instance resources through the Kubernetes API', (cluster) => {
  let namespace: string;
  let token: string;
  const clients: RestCluster[] = [];

  beforeEach(async () => {
    namespace = await cluster().namespace();
    const rbac = (kind: string, more: object) =>
      cluster().applied({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind,
        metadata: { name: 'gwk-api', namespace },
        ...more,
      });
    await cluster().applied({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'gwk-api', namespace },
    });
    await rbac('Role', { rules: RULES });
    await rbac('RoleBinding', {
      subjects: [{ kind: 'ServiceAccount', name: 'gwk-api', namespace }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'gwk-api' },
    });
    token = await serviceAccountToken();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });

  async function serviceAccountToken(): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/gwk-api/token`;
    const made = await cluster().post<{ status: { token: string } }>(path, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 600 },
    });
    return made.body.status.token;
  }

  function client(of: () => string = () => token): RestCluster {
    const { url, ca } = cluster().plane;
    const made = new RestCluster({ url, ca, token: of });
    clients.push(made);
    return made;
  }

  const manifest = (spec: object, metadata: object = {}) => ({
    metadata: { namespace, name: 'ins-1', ...metadata },
    spec: { account: 'main', ...spec },
  });

  test('creates, reads, changes and deletes with the rights of its service account', async () => {
    const made = await client().apply(manifest({}, { labels: { 'gwk.dev/instance-id': 'ins_1' } }));
    expect(made.metadata.generation).toBe(1);
    expect(made.spec).toMatchObject({ account: 'main', kind: 'web', suspended: false });
    const changed = await client().apply(manifest({ displayName: 'Shop' }));
    expect([changed.metadata.uid, changed.metadata.generation]).toEqual([made.metadata.uid, 2]);
    expect(await client().get(namespace, 'ins-1')).toMatchObject({ spec: { displayName: 'Shop' } });
    await client().delete(namespace, 'ins-1');
    expect(await client().get(namespace, 'ins-1')).toBeNull();
    await client().delete(namespace, 'ins-1');
  });

  test('keeps fields of other managers', async () => {
    await client().apply(manifest({ displayName: 'Shop' }));
    const path = `/apis/gwk.dev/v1alpha1/namespaces/${namespace}/instances/ins-1`;
    await cluster().merge(path, { spec: { logLevel: 'debug' } });
    expect((await client().apply(manifest({ displayName: 'Two' }))).spec).toMatchObject({
      displayName: 'Two',
      logLevel: 'debug',
    });
  });

  test('rejects a write after a concurrent change', async () => {
    const made = await client().apply(manifest({}));
    const path = `/apis/gwk.dev/v1alpha1/namespaces/${namespace}/instances/ins-1`;
    await cluster().merge(path, { spec: { logLevel: 'debug' } });
    const { resourceVersion, uid } = made.metadata;
    await expect(client().apply(manifest({}, { resourceVersion, uid }))).rejects.toBeInstanceOf(
      ResourceConflict,
    );
  });

  test('does not confuse a new resource with a previous one of the same name', async () => {
    const made = await client().apply(manifest({}));
    await client().delete(namespace, 'ins-1');
    const again = client().apply(manifest({}, { uid: made.metadata.uid }));
    await expect(again).rejects.toBeInstanceOf(ResourceConflict);
    expect(await client().get(namespace, 'ins-1')).toBeNull();
  });

  test('reads the service account token again when it rotates', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gwk-token-'));
    const file = join(folder, 'token');
    writeFileSync(file, 'an old token');
    const settings = { token: rotatingSecret('GWK_API_CLUSTER_TOKEN', 'a token') };
    const config = loadConfig(settings, { GWK_API_CLUSTER_TOKEN_FILE: file });
    const one = client(config.token);
    await expect(one.get(namespace, 'ins-1')).rejects.toMatchObject({ code: 'engine-unavailable' });
    writeFileSync(file, token);
    const now = performance.now();
    const clock = clockAt(now + 11_000);
    try {
      expect(await one.get(namespace, 'ins-1')).toBeNull();
    } finally {
      clock.restore();
      rmSync(folder, { recursive: true });
    }
  });

  test('reports engine-unavailable without details if a right is missing', async () => {
    await expect(client().get('default', 'ins-1')).rejects.toMatchObject({ code: 'engine-unavailable' });
  });
});

/** Moves the clock that token rotation uses ahead. */
function clockAt(value: number): { restore: () => void } {
  const real = performance.now.bind(performance);
  const began = real();
  performance.now = () => value + real() - began;
  return { restore: () => void (performance.now = real) };
}

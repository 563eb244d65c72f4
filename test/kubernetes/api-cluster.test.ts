import { loadConfig, rotatingSetting, types } from '@gwk/core/config/load';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubernetesDesiredState } from '@gwk/api/instances/kubernetes-desired-state';
import { DesiredStateUnavailable, ResourceConflict } from '@gwk/core/desired-state/desired-state';

/** The rights of the API, as the chart grants them. */
const RULES = [
  { apiGroups: ['gwk.dev'], resources: ['instances'], verbs: ['get', 'create', 'patch', 'delete'] },
];

describeOnKubernetes('Instance resources through the Kubernetes API', (cluster) => {
  let namespace: string;
  let token: string;

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

  async function serviceAccountToken(): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/gwk-api/token`;
    const made = await cluster().post<{ status: { token: string } }>(path, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 600 },
    });
    return made.body.status.token;
  }

  function client(of: () => string = () => token): KubernetesDesiredState {
    const { url, ca } = cluster().plane;
    return new KubernetesDesiredState({ url, ca, token: of, timeoutMs: 2_500 });
  }

  const place = () => ({ namespace, name: 'ins-1' });
  const create = (spec: object = {}, metadata: object = {}) =>
    client().create({ metadata: { ...place(), ...metadata }, spec: { account: 'main', ...spec } });
  const path = () => `/apis/gwk.dev/v1/namespaces/${namespace}/instances/ins-1`;

  test('creates, reads, changes and deletes with the rights of its service account', async () => {
    const made = await create({}, { labels: { 'gwk.dev/instance-id': 'ins_1' } });
    expect(made.metadata.generation).toBe(1);
    expect(made.spec).toMatchObject({ account: 'main', kind: 'web', suspended: false });
    await expect(create()).rejects.toBeInstanceOf(ResourceConflict);
    const changed = await client().change({ ...made, spec: { ...made.spec, displayName: 'Shop' } });
    expect([changed.metadata.uid, changed.metadata.generation]).toEqual([made.metadata.uid, 2]);
    expect(changed.metadata.labels).toEqual({ 'gwk.dev/instance-id': 'ins_1' });
    expect(await client().get(place())).toMatchObject({ spec: { displayName: 'Shop' } });
    await client().delete(place());
    expect(await client().get(place())).toBeNull();
    await client().delete(place());
  });

  test('keeps fields of other managers', async () => {
    await create({ displayName: 'Shop' });
    await cluster().merge(path(), { spec: { logLevel: 'debug' } });
    const seen = (await client().get(place()))!;
    const changed = await client().change({ ...seen, spec: { ...seen.spec, displayName: 'Two' } });
    expect(changed.spec).toMatchObject({ displayName: 'Two', logLevel: 'debug' });
  });

  test('rejects a write after a concurrent change', async () => {
    const made = await create();
    await cluster().merge(path(), { spec: { logLevel: 'debug' } });
    await expect(client().change(made)).rejects.toBeInstanceOf(ResourceConflict);
  });

  test('does not confuse a new resource with a previous one of the same name', async () => {
    const made = await create();
    await client().delete(place());
    await expect(client().change(made)).rejects.toBeInstanceOf(ResourceConflict);
    expect(await client().get(place())).toBeNull();
    const again = await create();
    await expect(client().change(made)).rejects.toBeInstanceOf(ResourceConflict);
    expect(await client().get(place())).toMatchObject({ metadata: { uid: again.metadata.uid } });
  });

  test('reads the service account token again when it rotates', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gwk-token-'));
    const file = join(folder, 'token');
    writeFileSync(file, 'an old token');
    const settings = { token: rotatingSetting('GWK_API_CLUSTER_TOKEN', types.text(), 'a token') };
    const config = loadConfig(settings, { GWK_API_CLUSTER_TOKEN_FILE: file });
    const one = client(config.token);
    await expect(one.get(place())).rejects.toBeInstanceOf(DesiredStateUnavailable);
    writeFileSync(file, token);
    const now = performance.now();
    const clock = clockAt(now + 11_000);
    try {
      expect(await one.get(place())).toBeNull();
    } finally {
      clock.restore();
      rmSync(folder, { recursive: true });
    }
  });

  test('is unavailable if a right is missing', async () => {
    await expect(client().get({ namespace: 'default', name: 'ins-1' })).rejects.toBeInstanceOf(
      DesiredStateUnavailable,
    );
  });
});

/** Moves the clock that token rotation uses ahead. */
function clockAt(value: number): { restore: () => void } {
  const real = performance.now.bind(performance);
  const began = real();
  performance.now = () => value + real() - began;
  return { restore: () => void (performance.now = real) };
}

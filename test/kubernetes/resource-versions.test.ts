import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { kubectl, shell } from './kubectl.js';
import { OperatorStage } from './operator-stage.js';
import { MINIMAL_VALUES, render } from '../support/chart/render.js';
import { grantedTo } from '../support/chart/rights.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { instancePath, type KubeObject, type TestCluster } from '../support/kubernetes/test-cluster.js';
import { ROOT } from '../support/program.js';
import { readPageCommands } from '../support/readme.js';
import { until } from '../support/wait.js';

interface Version {
  name: string;
  storage: boolean;
  schema: object;
}
type Definition = KubeObject & {
  spec: { versions: Version[]; conversion?: object };
  status?: { storedVersions: string[] };
};

const PRESENT = parse(readFileSync(join(ROOT, 'crds/gwk.dev_instances.yaml'), 'utf8')) as Definition;
const [V1, V1ALPHA1] = PRESENT.spec.versions as [Version, Version];
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/instances.gwk.dev';

const withVersions = (...versions: Version[]): Definition => ({
  ...PRESENT,
  spec: { ...PRESENT.spec, versions },
});
/** The CRD before v1. */
const FORMER = withVersions({ ...V1ALPHA1, storage: true });
/** A CRD that drops v1alpha1. */
const LATER = withVersions(V1);

const alphaPath = (namespace: string, name: string) =>
  instancePath(namespace, name).replace('/v1/', '/v1alpha1/');

async function storedVersions(cluster: TestCluster): Promise<string[]> {
  return (await cluster.get<Definition>(CRD)).body.status!.storedVersions;
}

/** Installs a CRD and waits until the server stores in its version. */
async function install(cluster: TestCluster, definition: Definition): Promise<void> {
  await cluster.applied(definition);
  const name = definition.spec.versions.find(({ storage }) => storage)!.name;
  await until(
    async () => {
      const { status } = await cluster.get(`/apis/gwk.dev/${name}/instances`);
      const probe = await cluster.namespace('probe');
      await cluster.post(`/apis/gwk.dev/${name}/namespaces/${probe}/instances`, instance('probe', name));
      const stored = await readStored(cluster, probe);
      await cluster.delete(`/apis/gwk.dev/${name}/namespaces/${probe}/instances/probe`);
      return status === 200 && stored['probe'] === `gwk.dev/${name}`;
    },
    { what: `instances are stored as ${name}` },
  );
}

const instance = (name: string, version = 'v1'): object => ({
  apiVersion: `gwk.dev/${version}`,
  kind: 'Instance',
  metadata: { name },
  spec: { account: 'main', kind: 'sandbox' },
});

/** The versions in which etcd has the Instances of a namespace, by name. */
async function readStored({ plane }: TestCluster, namespace: string): Promise<Record<string, string>> {
  const prefix = `/registry/gwk.dev/instances/${namespace}/`;
  const encode = (text: string) => Buffer.from(text).toString('base64');
  const response = await fetch(`${plane.etcdUrl}/v3/kv/range`, {
    method: 'POST',
    body: JSON.stringify({ key: encode(prefix), range_end: encode(`${prefix.slice(0, -1)}0`) }),
  });
  const { kvs = [] } = (await response.json()) as { kvs?: { value: string }[] };
  const objects = kvs.map(({ value }) => JSON.parse(Buffer.from(value, 'base64').toString()) as KubeObject);
  return Object.fromEntries(objects.map(({ apiVersion, metadata }) => [metadata.name, apiVersion!]));
}

const ALL = ['a', 'b', 'c'];
const allAs = (version: string) => Object.fromEntries(ALL.map((name) => [name, `gwk.dev/${version}`]));

describeOnKubernetes(
  'the versions of Instance',
  (cluster) => {
    let stage: OperatorStage;
    /** A namespace that no operator serves. */
    let other: string;

    /** Instances of the former version, then the present CRD. */
    beforeEach(async () => {
      await resetVersions();
      stage = await OperatorStage.make(cluster());
      other = await cluster().namespace('other');
      for (const name of ALL)
        for (const namespace of [stage.namespace, other])
          await cluster().post(
            `/apis/gwk.dev/v1alpha1/namespaces/${namespace}/instances`,
            instance(name, 'v1alpha1'),
          );
      await install(cluster(), PRESENT);
      expect(await storedVersions(cluster())).toEqual(['v1alpha1', 'v1']);
    });
    afterEach(async () => {
      await stage.stop();
      for (const namespace of [stage.namespace, other])
        for (const name of ALL) {
          await cluster().merge(instancePath(namespace, name), { metadata: { finalizers: null } });
          await cluster().delete(instancePath(namespace, name));
        }
    });

    /** The CRD as the former release installed it. No Instance exists. */
    async function resetVersions(): Promise<void> {
      await cluster().delete(CRD);
      await until(async () => (await cluster().get(CRD)).status === 404, { what: 'the CRD is gone' });
      await install(cluster(), FORMER);
    }

    const untilStored = (version: string) =>
      until(async () => (await storedVersions(cluster())).join() === version, {
        what: `only ${version} is stored`,
      });
    const expectStored = async (version: string) => {
      for (const namespace of [stage.namespace, other])
        expect(await readStored(cluster(), namespace)).toEqual(allAs(version));
    };

    /** @returns a token of the operator. */
    async function grantRightsOfChart(values: object = {}): Promise<string> {
      const { namespace } = stage;
      const objects = render({ ...MINIMAL_VALUES, ...values }, { namespace });
      const { token, done } = await grantedTo(cluster(), objects, { namespace, account: 'gwk-operator' });
      done();
      return token;
    }
    async function startWithRightsOfChart(values: object = {}): Promise<void> {
      const token = await grantRightsOfChart(values);
      await stage.operator({
        options: { kube: stage.kube(token), migrationTimes: { settleMs: 0, firstMs: 50, pageSize: 2 } },
      });
    }
    const migrationLog = (text: string) =>
      until(() => Promise.resolve(stage.logs.some((line) => line.includes(text))), { what: text });

    test('the operator rewrites stored Instances of all namespaces, then removes the former version', async () => {
      await expectStored('v1alpha1');
      await startWithRightsOfChart();
      await untilStored('v1');
      await expectStored('v1');
      expect(stage.refused()).toEqual([]);
      // Generations count changes of the spec, so controllers of others see no change.
      expect((await cluster().get(instancePath(other, 'a'))).body.metadata.generation).toBe(1);
      expect((await cluster().apply(CRD, LATER)).status).toBe(200);
      expect((await cluster().get(instancePath(other, 'a'))).body).toMatchObject(instance('a'));
    });

    test('the operator may patch, but not change, the status of Instances of others', async () => {
      const token = await grantRightsOfChart();
      const patch = (body: object, subresource = '/status') =>
        cluster().call('PATCH', `${instancePath(other, 'a')}${subresource}`, {
          body,
          type: 'application/merge-patch+json',
          token,
        });
      await until(
        async () => (await patch({ metadata: { annotations: { probe: 'x' } } }, '')).status === 422,
        {
          what: 'the policy is enforced',
        },
      );
      expect((await patch({})).status).toBe(200);
      const status = { since: '2026-03-01T12:00:00.000Z' };
      expect((await patch({ status })).status).toBe(422);
      expect((await cluster().merge(`${instancePath(other, 'a')}/status`, { status })).status).toBe(200);
      expect((await patch({ status })).status).toBe(200);
      const denied = expect.stringContaining('may not change Instances outside of its namespaces') as string;
      for (const changed of [null, { since: '2026-03-02T12:00:00.000Z' }, { state: 'connected' }])
        expect((await patch({ status: changed })).body.message).toEqual(denied);
      expect((await patch({ spec: { suspended: true } }, '')).body.message).toEqual(denied);
    });

    test.each([500, 403])('a migration interrupted by %d continues and ends last', async (code) => {
      const isRewrite = ({ method, path }: { method: string; path: string }) =>
        method === 'PATCH' && path.startsWith(instancePath(other)) && path.endsWith('/status');
      let rewrites = 0;
      stage.kubernetesApi.instead = (seen) =>
        isRewrite(seen) && ++rewrites === 2 ? { code, body: '{}' } : undefined;
      await startWithRightsOfChart();
      await untilStored('v1');
      await expectStored('v1');
      const paths = stage.kubernetesApi.writes().map(({ path }) => path);
      expect(paths.filter((path) => path === `${CRD}/status`)).toHaveLength(1);
      expect(paths.indexOf(`${CRD}/status`)).toBeGreaterThan(
        paths.findLastIndex((path) => path.startsWith(instancePath(other))),
      );
    });

    test('two operators migrate at once', async () => {
      const options = { migrationTimes: { settleMs: 0, firstMs: 50, pageSize: 2 } };
      await stage.operator({ options });
      await stage.operator({
        options,
        env: { GWK_OPERATOR_LEASE: 'another', GWK_OPERATOR_NAMESPACES: other },
      });
      await untilStored('v1');
      await expectStored('v1');
    });

    test('a migration does not remove a version that a changed CRD stores', async () => {
      const back = withVersions({ ...V1, storage: false }, { ...V1ALPHA1, storage: true });
      let ends = 0;
      stage.kubernetesApi.instead = async ({ method, path }) => {
        // The CRD changes between the rewriting and the end of the migration.
        if (method === 'PATCH' && path === `${CRD}/status` && ++ends === 1) await install(cluster(), back);
        return undefined;
      };
      await startWithRightsOfChart();
      await untilStored('v1alpha1');
      await expectStored('v1alpha1');
    });

    test('without the right, the operator works and an administrator migrates by the documented commands', async () => {
      await startWithRightsOfChart({ crds: { migrateStorage: false } });
      await migrationLog('no right to migrate stored Instances');
      expect(await storedVersions(cluster())).toEqual(['v1alpha1', 'v1']);
      shell(cluster(), readPageCommands('upgrade.md', '"storedVersions":["v1"]'));
      expect(await storedVersions(cluster())).toEqual(['v1']);
      await expectStored('v1');
    });

    test('the way back to a release without v1 is documented', async () => {
      await startWithRightsOfChart();
      await untilStored('v1');
      const refused = await cluster().apply(CRD, FORMER);
      expect([refused.status, refused.body.message]).toEqual([
        422,
        expect.stringContaining('status.storedVersions'),
      ]);
      shell(cluster(), readPageCommands('upgrade.md', '"storedVersions":["v1alpha1"]'));
      expect(await storedVersions(cluster())).toEqual(['v1alpha1']);
      await expectStored('v1alpha1');
      expect((await cluster().apply(CRD, FORMER)).status).toBe(200);
      const { body } = await cluster().get(alphaPath(other, 'a'));
      expect(body).toMatchObject(instance('a', 'v1alpha1'));
    });
  },
  { chart: true, own: true },
);

describeOnKubernetes('v1 and v1alpha1 of Instance', (cluster) => {
  let namespace: string;
  beforeAll(async () => {
    namespace = await cluster().namespace();
    await cluster().post(instancePath(namespace), instance('shop'));
    const other = { ...instance('other'), spec: { account: 'else', kind: 'web', suspended: true } };
    await cluster().post(instancePath(namespace), other);
  });

  test('have the same schema', () => {
    expect(V1ALPHA1.schema).toEqual(V1.schema);
  });

  test('show the same object', async () => {
    const [one, former] = [
      await cluster().get(instancePath(namespace, 'shop')),
      await cluster().get(alphaPath(namespace, 'shop')),
    ];
    expect(former.body).toEqual({ ...one.body, apiVersion: 'gwk.dev/v1alpha1', metadata: expect.anything() });
  });

  test('kubectl warns about v1alpha1', () => {
    const text = shell(cluster(), `kubectl get instances.v1alpha1.gwk.dev -n ${namespace} 2>&1`);
    expect(text).toContain('gwk.dev/v1alpha1 Instance is deprecated; use gwk.dev/v1');
  });

  test.each([
    ['spec.account=else', 'other'],
    ['spec.kind=sandbox', 'shop'],
    ['spec.suspended=true', 'other'],
    ['spec.interactiveMode=native+text,spec.account=main', 'shop'],
  ])('kubectl selects by %s', (selector, name) => {
    const args = ['get', 'gwi', '-n', namespace, '--field-selector', selector, '-o', 'name'];
    expect(kubectl(cluster(), args)).toBe(`instance.gwk.dev/${name}\n`);
  });

  test('times of the status have the format date-time', async () => {
    const since = (time: string) =>
      cluster().merge(`${instancePath(namespace, 'shop')}/status`, { status: { since: time } });
    expect((await since('yesterday')).status).toBe(422);
    expect((await since('2026-03-01T12:00:00.000Z')).status).toBe(200);
  });
});

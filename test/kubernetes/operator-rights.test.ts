import { KubernetesDesiredState } from '@gwk/api/instances/kubernetes-desired-state';
import { MINIMAL_VALUES, render } from '../support/chart/render.js';
import { grantedTo } from '../support/chart/rights.js';
import { OperatorStage, SHORT_LEASE_MS } from './operator-stage.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import type { KubeObject } from '../support/kubernetes/test-cluster.js';
import { until } from '../support/wait.js';

/** Tests the operator and the API with exactly the rights that the chart grants. */
describeOnKubernetes(
  'the rights of the operator',
  (cluster) => {
    let stage: OperatorStage;
    beforeEach(async () => {
      stage = await OperatorStage.make(cluster());
    });
    afterEach(() => stage.stop());

    async function operatorToken(values: object = {}): Promise<string> {
      const { namespace } = stage;
      const objects = render({ ...MINIMAL_VALUES, ...values }, { namespace });
      const { token, done } = await grantedTo(cluster(), objects, { namespace, account: 'gwk-operator' });
      done();
      return token;
    }

    test('suffice to create, upgrade, restart, drain, move and delete an engine', async () => {
      const kube = stage.kube(await operatorToken());
      stage.internalApi.leaseMs = SHORT_LEASE_MS;
      const node = await stage.node(`lost-${stage.namespace}`);
      const first = await stage.operator({ options: { kube } });
      await cluster().applied(foreignPod(stage.namespace));
      await stage.create('taken');
      await stage.create('shop');
      await stage.untilIs('shop', 'Ready', 'True');
      await until(async () => (await stage.events('shop')).length > 0, { what: 'its events are recorded' });
      // It needs an engine and gets none, so an upgrade of the others would wait for it.
      await stage.delete('taken');
      await stage.untilGone('taken');
      const crashed = (await stage.pod('shop'))!;
      await node.crash(crashed);
      await until(
        async () => ![undefined, crashed.metadata.uid].includes((await stage.pod('shop'))?.metadata.uid),
        {
          what: 'another engine is made',
        },
      );
      await stage.untilIs('shop', 'Ready', 'True');
      await stage.end(first);

      await stage.operator({ options: { kube }, profiles: { default: { image: 'engine:2' } } });
      await until(async () => (await stage.pod('shop'))?.spec.containers[0]?.image === 'engine:2', {
        what: 'it is upgraded',
      });
      await stage.untilIs('shop', 'Ready', 'True');
      node.condition = 'unresponsive';
      for (const engine of node.engines.values()) engine.kill();
      await stage.node(`spare-${stage.namespace}`);
      await node.setReady('Unknown');
      await until(async () => (await stage.pod('shop'))?.spec.nodeName === `spare-${stage.namespace}`, {
        what: 'it is moved',
      });
      await stage.untilIs('shop', 'Ready', 'True');
      await stage.delete('shop');
      await stage.untilGone('shop');

      expect(stage.refused()).toEqual([]);
      // Used only for Instances deleted through the API, for `gwk pair` and pods of an operator that failed, and by a
      // migration of stored Instances.
      expect(unused(stage).sort()).toEqual([
        'delete instances',
        'delete secrets',
        'patch customresourcedefinitions/status',
      ]);
    });
  },
  { chart: true },
);

describeOnKubernetes(
  'limits of the rights of the operator',
  (cluster) => {
    let namespace: string;
    let token: string;
    beforeAll(async () => {
      namespace = await cluster().namespace();
      const account = 'gwk-operator';
      const granted = await grantedTo(cluster(), render(MINIMAL_VALUES, { namespace }), {
        namespace,
        account,
      });
      ({ token } = granted);
      granted.done();
    });

    test.each([
      ['GET', '/api/v1/secrets'],
      ['GET', '/api/v1/namespaces/gwk-namespace/secrets'],
      ['GET', '/api/v1/namespaces/gwk-namespace/secrets/gwk'],
      ['PUT', '/api/v1/namespaces/gwk-namespace/secrets/gwk'],
      ['GET', '/api/v1/namespaces/default/pods'],
      ['DELETE', '/api/v1/nodes/n1'],
      ['POST', '/api/v1/namespaces/gwk-namespace/pods/gwk-shop/exec'],
      ['POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/gwk-namespace/roles'],
      ['POST', '/apis/gwk.dev/v1/namespaces/gwk-namespace/instances'],
    ])('do not include %s %s', async (method, path) => {
      const { status } = await cluster().call(method, path.replace('gwk-namespace', namespace), {
        token,
        ...(/^P/.test(method) && { body: { metadata: { name: 'x' } } }),
      });
      expect(status).toBe(403);
    });
  },
  { chart: true },
);

/** Has the name of an engine's pod: the operator then reads the pod. */
function foreignPod(namespace: string): KubeObject {
  const restricted = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'gwk-taken', namespace },
    spec: {
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [{ name: 'x', image: 'x', securityContext: restricted }],
    },
  };
}

/** Rights that the chart grants and this operator never used. */
function unused(stage: OperatorStage): string[] {
  const verbs: Record<string, string> = { POST: 'create', PATCH: 'patch', DELETE: 'delete' };
  const used = new Set(
    stage.kubernetesApi.seen.map(({ method, path, query }) => {
      const { resource, name } = resourceOf(path);
      const reading = query.get('watch') === 'true' ? 'watch' : name === undefined ? 'list' : 'get';
      return `${verbs[method] ?? reading} ${resource}`;
    }),
  );
  const granted = render(MINIMAL_VALUES, { namespace: stage.namespace })
    .filter(({ kind = '', metadata }) => /^(Cluster)?Role$/.test(kind) && /-operator/.test(metadata.name))
    .flatMap((role) => role['rules'] as { resources: string[]; verbs: string[] }[])
    .flatMap(({ resources, verbs: allowed }) =>
      resources.flatMap((one) => allowed.map((verb) => `${verb} ${one}`)),
    );
  return [...new Set(granted)].filter((right) => !used.has(right));
}

function resourceOf(path: string): { resource: string; name: string | undefined } {
  const parts = path.replace(/^\/(api|apis\/[^/]+)\/[^/]+\//, '').split('/');
  const [resource = '', name, part] = parts[0] === 'namespaces' ? parts.slice(2) : parts;
  return { resource: part === undefined ? resource : `${resource}/${part}`, name };
}

describeOnKubernetes(
  'the rights of the API',
  (cluster) => {
    let namespace: string;
    let token: string;
    beforeAll(async () => {
      namespace = await cluster().namespace();
      const granted = await grantedTo(cluster(), render(MINIMAL_VALUES, { namespace }), {
        namespace,
        account: 'gwk-api',
      });
      ({ token } = granted);
      granted.done();
    });

    test('suffice to create, read, change and delete an Instance', async () => {
      const { url, ca } = cluster().plane;
      const state = new KubernetesDesiredState({ url, ca, token: () => token, timeoutMs: 2_500 });
      const place = { namespace, name: 'shop' };
      const spec = { account: 'main', kind: 'sandbox' as const, displayName: 'Shop' };
      const made = await state.create({ metadata: place, spec });
      expect(made).toMatchObject({ spec: { displayName: 'Shop' } });
      await state.change({ ...made, spec: { ...made.spec, displayName: 'Other' } });
      expect(await state.get(place)).toMatchObject({ spec: { displayName: 'Other' } });
      await state.delete(place);
      expect(await state.get(place)).toBeNull();
    });

    test.each([
      ['GET', '/apis/gwk.dev/v1/instances'],
      ['GET', '/apis/gwk.dev/v1/namespaces/HERE/instances'],
      ['PATCH', '/apis/gwk.dev/v1/namespaces/HERE/instances/shop/status'],
      ['GET', '/api/v1/namespaces/HERE/secrets/gwk'],
      ['GET', '/api/v1/namespaces/HERE/pods'],
      ['POST', '/api/v1/namespaces/HERE/pods'],
    ])('do not include %s %s', async (method, path) => {
      const { status } = await cluster().call(method, path.replace('HERE', namespace), {
        token,
        ...(method !== 'GET' && {
          body: { metadata: { name: 'x' } },
          type: method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
        }),
      });
      expect(status).toBe(403);
    });
  },
  { chart: true },
);

describeOnKubernetes(
  'the operator with the controllers of Kubernetes',
  (cluster) => {
    let stage: OperatorStage;
    beforeEach(async () => {
      stage = await OperatorStage.make(cluster());
    });
    afterEach(() => stage.stop());

    const secrets = () => cluster().list(`/api/v1/namespaces/${stage.namespace}/secrets`);

    test('deletes the Secret of an engine with its pod', async () => {
      const node = await stage.node();
      await stage.operator();
      await stage.create('shop');
      await stage.untilIs('shop', 'Ready', 'True');
      const [before] = await secrets();
      await node.crash((await stage.pod('shop'))!);
      await until(
        async () => {
          const now = await secrets();
          return now.length === 1 && now[0]!.metadata.name !== before!.metadata.name;
        },
        { what: 'only the secret of the new engine is there' },
      );
    });

    test('deletes Instances with their namespace, engines first', async () => {
      await stage.node();
      await stage.operator();
      await stage.create('shop');
      await stage.untilIs('shop', 'Ready', 'True');
      await cluster().delete(`/api/v1/namespaces/${stage.namespace}`);
      await stage.untilGone('shop');
      await until(async () => (await stage.pods()).length === 0, { what: 'its pod is gone' });
    });

    test('deletes an Instance with foreground propagation', async () => {
      await stage.node();
      await stage.operator();
      await stage.create('shop');
      await stage.untilIs('shop', 'Ready', 'True');
      const path = `/apis/gwk.dev/v1/namespaces/${stage.namespace}/instances/shop`;
      await cluster().delete(path, { propagationPolicy: 'Foreground' });
      await stage.untilGone('shop');
      await until(async () => (await secrets()).length === 0, { what: 'its secret is gone' });
    });
  },
  { controllers: true },
);

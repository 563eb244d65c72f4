import { MINIMAL_VALUES, render } from '../support/chart/render.js';
import { grantedTo } from '../support/chart/rights.js';
import { OperatorStage } from './operator-stage.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { instancePath, type KubeObject } from '../support/kubernetes/test-cluster.js';
import { pause, until } from '../support/wait.js';

/** Unusual changes of Instances by users, tools and tenants. */
describeOnKubernetes('unusual Instances', (cluster) => {
  let stage: OperatorStage;
  beforeEach(async () => {
    stage = await OperatorStage.make(cluster());
  });
  afterEach(() => stage.stop());

  const made = async (name: string, spec: object, metadata: object = {}) => {
    const body = { metadata: { name, ...metadata }, spec: { account: 'main', kind: 'sandbox', ...spec } };
    const { status, body: answer } = await cluster().post(instancePath(stage.namespace), {
      apiVersion: 'gwk.dev/v1',
      kind: 'Instance',
      ...body,
    });
    return { status, message: answer.message };
  };

  test('handles and deletes everything that the definition accepts', async () => {
    const odd: [string, object, object?][] = [
      ['flags', { displayName: '🇧🇷'.repeat(40) }],
      ['nulls', { displayName: null, policy: null, engine: null, logLevel: null }],
      ['empty', { engine: {}, policy: {} }],
      ['with.dots', {}],
      ['x'.repeat(63), {}],
      [`a${'-'.repeat(61)}b`, {}],
      ['spaces', { displayName: '   ' }],
      ['nulls-in-a-policy', { policy: { active_hours: null, opt_out: { enabled: null } } }],
      ['labelled', {}, { labels: { 'gwk.dev/instance-id': 'ins_0195a00000007000800000000000001a' } }],
      ['owned', {}, { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' }] }],
    ];
    await stage.operator();
    for (const [name, spec, metadata] of odd)
      expect([name, await made(name, spec, metadata)]).toEqual([name, { status: 201, message: undefined }]);
    for (const [name] of odd) await stage.untilIs(name, 'Accepted', 'True');
    for (const [name] of odd) await stage.delete(name);
    for (const [name] of odd) await stage.untilGone(name);
  });

  test("ignores a copy of an engine's pod", async () => {
    await stage.node();
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const { metadata } = (await stage.pod('shop'))!;
    const { labels, annotations } = metadata as { labels?: object; annotations?: object };
    const pods = `/api/v1/namespaces/${stage.namespace}/pods`;
    const copy = { metadata: { name: 'copy', labels, annotations }, spec: HARMLESS };
    expect((await cluster().post(pods, copy)).status).toBe(201);
    await cluster().delete(`${pods}/copy`, { gracePeriodSeconds: 0 });
    await stage.change('shop', { suspended: true });
    await until(async () => (await stage.pod('shop')) === undefined, { what: 'its engine is stopped' });
    await stage.untilIs('shop', 'EngineRunning', 'False/Suspended');
  });

  test('removes the code and asks for no other when deleted during pairing', async () => {
    stage.internalApi.firstState = 'pending_pair';
    stage.internalApi.pairingCode = '2@x';
    await stage.node();
    await stage.operator();
    await stage.create('shop', { kind: 'web' });
    const id = 'forever';
    const request = { id, method: 'qr', phone: null, until: '9999-01-01T00:00:00Z' };
    const annotations = { 'gwk.dev/pairing': JSON.stringify(request) };
    await cluster().merge(instancePath(stage.namespace, 'shop'), { metadata: { annotations } });
    const secret = async () =>
      (await cluster().get(`/api/v1/namespaces/${stage.namespace}/secrets/gwk-shop-pairing`)).status;
    await until(async () => (await secret()) === 200, { what: 'its code is published' });
    await stage.delete('shop');
    await stage.untilGone('shop');
    await until(async () => (await secret()) === 404, { what: 'its code is removed' });
    const asked = () => stage.internalApi.calls.get('pair') ?? 0;
    const before = asked();
    // Longer than the poll interval for the next code.
    await pause(2500);
    expect(asked()).toBe(before);
  });
});

describeOnKubernetes(
  'a namespace that the operator loses access to',
  (cluster) => {
    let stage: OperatorStage;
    beforeEach(async () => {
      stage = await OperatorStage.make(cluster());
    });
    afterEach(() => stage.stop());

    test('does not block others, and is served again once access is restored', async () => {
      const { namespace } = stage;
      const tenant = await cluster().namespace('tenant');
      const objects = render(
        { ...MINIMAL_VALUES, operator: { namespaces: [namespace, tenant] } },
        { namespace },
      );
      const { token, done } = await grantedTo(cluster(), objects, { namespace, account: 'gwk-operator' });
      done();
      const binding = objects.find(
        ({ kind, metadata }) =>
          kind === 'RoleBinding' && metadata.namespace === tenant && metadata.name === 'gwk-operator',
      )!;
      const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${tenant}/rolebindings/gwk-operator`;
      await cluster().delete(path);
      await cluster().applied(instance(tenant, 'theirs'));
      await stage.node();
      await stage.operator({
        env: { GWK_OPERATOR_NAMESPACES: `${namespace},${tenant}` },
        options: { kube: stage.kube(token) },
      });
      await stage.create('ours');
      await stage.untilIs('ours', 'Ready', 'True');
      await cluster().applied(binding);
      await until(
        async () => {
          const { body } = await cluster().get<{ status?: { conditions?: { type: string }[] } }>(
            instancePath(tenant, 'theirs'),
          );
          return body.status?.conditions?.some(({ type }) => type === 'Accepted');
        },
        { what: 'theirs is served' },
      );
      await cluster().delete(instancePath(tenant, 'theirs'));
    });
  },
  { chart: true },
);

const instance = (namespace: string, name: string): KubeObject => ({
  apiVersion: 'gwk.dev/v1',
  kind: 'Instance',
  metadata: { namespace, name },
  spec: { account: 'main', kind: 'sandbox' },
});

/** On a node that no test provides. */
const HARMLESS = {
  nodeName: 'nowhere',
  automountServiceAccountToken: false,
  securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [
    {
      name: 'engine',
      image: 'engine:1',
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    },
  ],
};

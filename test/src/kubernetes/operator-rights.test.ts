import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { OperatorStage } from '../harness/kubernetes/operator-stage.js';
import { describeOnKubernetes } from '../harness/kubernetes/suite.js';
import type { KubeObject } from '../harness/kubernetes/test-cluster.js';
import { ROOT } from '../harness/program.js';
import { until } from '../harness/wait.js';

/** The operator with the rights of examples/operator-rights.yaml and no other. */
const RIGHTS = join(ROOT, 'examples/operator-rights.yaml');

describeOnKubernetes('the rights of the operator', (cluster) => {
  let stage: OperatorStage;
  beforeEach(async () => {
    stage = await OperatorStage.make(cluster());
  });
  afterEach(() => stage.strike());

  function rights(): KubeObject[] {
    const text = readFileSync(RIGHTS, 'utf8').replaceAll('gwk-namespace', stage.namespace);
    return parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
  }

  async function operatorToken(): Promise<string> {
    for (const object of rights()) await cluster().applied(object);
    const path = `/api/v1/namespaces/${stage.namespace}/serviceaccounts/gwk-operator/token`;
    const made = await cluster().post<{ status: { token: string } }>(path, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 3600 },
    });
    return made.body.status.token;
  }

  test('are enough for a life: made, upgraded, crashed, drained, lost with its node, deleted', async () => {
    const kube = stage.kube(await operatorToken());
    const node = await stage.node(`lost-${stage.namespace}`);
    const first = await stage.operator({ options: { kube } });
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    await until(async () => (await stage.story('shop')).length > 0, { what: 'its story is told' });
    await node.crash((await stage.pod('shop'))!);
    await stage.untilIs('shop', 'Ready', 'True');
    await stage.end(first);

    await stage.operator({ options: { kube }, profiles: { default: { image: 'engine:2' } } });
    await until(async () => (await stage.pod('shop'))?.spec.containers[0]?.image === 'engine:2', {
      what: 'it is upgraded',
    });
    await stage.untilIs('shop', 'Ready', 'True');
    node.mood = 'silent';
    for (const holder of node.holders.values()) holder.kill();
    await stage.node(`spare-${stage.namespace}`);
    await node.say('Unknown');
    await until(async () => (await stage.pod('shop'))?.spec.nodeName === `spare-${stage.namespace}`, {
      what: 'it is moved',
    });
    await stage.untilIs('shop', 'Ready', 'True');
    await stage.delete('shop');
    await stage.untilGone('shop');

    expect(stage.refused()).toEqual([]);
  }, 90_000);

  test.each([
    ['GET', '/api/v1/secrets'],
    ['GET', '/api/v1/namespaces/gwk-namespace/secrets'],
    ['GET', '/api/v1/namespaces/default/pods'],
    ['DELETE', '/api/v1/nodes/n1'],
    ['POST', '/api/v1/namespaces/gwk-namespace/pods/gwk-shop/exec'],
    ['POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/gwk-namespace/roles'],
    ['POST', '/apis/gwk.dev/v1alpha1/namespaces/gwk-namespace/instances'],
  ])('do not reach as far as %s %s', async (method, path) => {
    const token = await operatorToken();
    const { status } = await cluster().call(method, path.replace('gwk-namespace', stage.namespace), {
      token,
      ...(method === 'POST' && { body: { metadata: { name: 'x' } } }),
    });
    expect(status).toBe(403);
  });
});

describeOnKubernetes(
  'the operator beside the controllers of Kubernetes',
  (cluster) => {
    let stage: OperatorStage;
    beforeEach(async () => {
      stage = await OperatorStage.make(cluster());
    });
    afterEach(() => stage.strike());

    const secrets = () => cluster().list(`/api/v1/namespaces/${stage.namespace}/secrets`);

    test('the secret of an engine is collected with its pod', async () => {
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

    test('a namespace that is deleted takes its Instances with it, engines first', async () => {
      await stage.node();
      await stage.operator();
      await stage.create('shop');
      await stage.untilIs('shop', 'Ready', 'True');
      await cluster().delete(`/api/v1/namespaces/${stage.namespace}`);
      await stage.untilGone('shop', 30_000);
      await until(async () => (await stage.pods()).length === 0, { what: 'its pod is gone' });
    }, 60_000);

    test('deleted in the foreground, it goes all the same', async () => {
      await stage.node();
      await stage.operator();
      await stage.create('shop');
      await stage.untilIs('shop', 'Ready', 'True');
      const path = `/apis/gwk.dev/v1alpha1/namespaces/${stage.namespace}/instances/shop`;
      await cluster().delete(path, { propagationPolicy: 'Foreground' });
      await stage.untilGone('shop', 30_000);
      await until(async () => (await secrets()).length === 0, { what: 'its secret is gone' });
    }, 60_000);
  },
  { controllers: true },
);

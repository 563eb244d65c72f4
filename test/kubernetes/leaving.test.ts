import { MINIMAL_VALUES, render } from '../support/chart/render.js';
import { grantedTo } from '../support/chart/rights.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { instancePath } from '../support/kubernetes/test-cluster.js';
import { until } from '../support/wait.js';
import { OperatorStage } from './operator-stage.js';

/** Deletes a served namespace while the operator has only the rights that the chart grants. */
describeOnKubernetes(
  'a served namespace in deletion',
  (cluster) => {
    let stage: OperatorStage;
    let release: string;
    let token: string;
    beforeEach(async () => {
      stage = await OperatorStage.make(cluster());
      release = await cluster().namespace('release');
      const objects = render(
        { ...MINIMAL_VALUES, operator: { namespaces: [stage.namespace] } },
        { namespace: release },
      );
      const granted = await grantedTo(cluster(), objects, { namespace: release, account: 'gwk-operator' });
      granted.done();
      ({ token } = granted);
      await stage.node();
    });
    afterEach(() => stage.stop());

    test('ends with its Instances and engines', async () => {
      await stage.operator({ options: { kube: stage.kube(token, release) } });
      for (const name of ['a', 'b', 'c']) {
        await stage.create(name);
        await stage.untilIs(name, 'Ready', 'True');
      }
      await cluster().delete(`/api/v1/namespaces/${stage.namespace}`);
      await until(async () => (await cluster().get(`/api/v1/namespaces/${stage.namespace}`)).status === 404, {
        what: 'the namespace has ended',
      });
    });

    test('ends without the rights that it took along, says so once, and leaves no trace', async () => {
      const operator = await stage.operator({ options: { kube: stage.kube(token, release) } });
      const names = Array.from({ length: 20 }, (_, n) => `n${n}`);
      for (const name of names) await stage.create(name, { suspended: true });
      for (const name of names) await stage.untilIs(name, 'EngineRunning', 'False');
      const bindings = `/apis/rbac.authorization.k8s.io/v1/namespaces/${stage.namespace}/rolebindings`;
      const { body } = await cluster().get(bindings);
      for (const { metadata } of (body as unknown as { items: { metadata: { name: string } }[] }).items)
        await cluster().delete(`${bindings}/${metadata.name}`);
      const logged = stage.logs.length;
      await cluster().delete(`/api/v1/namespaces/${stage.namespace}`);
      await until(
        async () => {
          const shown = await stage.instance('n0');
          return shown === null || shown.metadata.deletionTimestamp !== undefined;
        },
        { what: 'the Instances are being deleted' },
      );
      stage.kubernetesApi.resetWatches();
      await until(async () => (await cluster().get(`/api/v1/namespaces/${stage.namespace}`)).status === 404, {
        what: 'the namespace has ended',
      });
      await until(async () => (await readInstances(operator.port)) === 0, { what: 'no Instance is left' });
      const warnings = stage.logs.slice(logged).filter((line) => line.includes('"level":"warn"'));
      expect(warnings.filter((line) => !line.includes('statuses'))).toEqual([]);
      expect(warnings.length).toBeLessThanOrEqual(1);
    });

    test('gives the operator no right to change Instances of others', async () => {
      const other = await cluster().namespace('other');
      const path = instancePath(other, 'theirs');
      await cluster().applied({
        apiVersion: 'gwk.dev/v1',
        kind: 'Instance',
        metadata: { name: 'theirs', namespace: other, finalizers: ['example.com/other', 'gwk.dev/engine'] },
        spec: { account: 'main', kind: 'sandbox' },
      });
      const patch = (body: unknown, type = 'application/merge-patch+json') =>
        cluster().call('PATCH', path, { body, type, token });
      const release = () =>
        patch([{ op: 'remove', path: '/metadata/finalizers/1' }], 'application/json-patch+json');
      const denied = expect.stringContaining('may not change Instances outside of its namespaces') as string;
      await until(async () => (await patch({ metadata: { annotations: { probe: 'x' } } })).status === 422, {
        what: 'the policy is enforced',
      });
      const expectDenied = async () => {
        expect((await patch({ spec: { suspended: true } })).body.message).toEqual(denied);
        expect((await release()).body.message).toEqual(denied);
      };
      await expectDenied();
      await cluster().delete(path);
      await expectDenied();
      await cluster().merge(path, { metadata: { finalizers: null } });
    });
  },
  { controllers: true, chart: true },
);

async function readInstances(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^gwk_operator_instances (\d+)$/m.exec(text)?.[1]);
}

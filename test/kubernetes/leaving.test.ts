import { MINIMAL_VALUES, render } from '../support/chart/render.js';
import { grantedTo } from '../support/chart/rights.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import type { KubeObject } from '../support/kubernetes/test-cluster.js';
import { until } from '../support/wait.js';
import { OperatorStage } from './operator-stage.js';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** Deletes a served namespace while the operator has only the rights that the chart grants in it. */
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

    const startOperator = () => stage.operator({ options: { kube: stage.kube(token, release) } });
    const deleteNamespace = () => cluster().delete(`/api/v1/namespaces/${stage.namespace}`);
    const untilNamespaceEnded = () =>
      until(async () => (await cluster().get(`/api/v1/namespaces/${stage.namespace}`)).status === 404, {
        what: 'the namespace has ended',
      });

    async function readFinalizers(): Promise<unknown[]> {
      const path = `${RBAC}/namespaces/${stage.namespace}`;
      const objects = [
        await cluster().get<KubeObject>(`${path}/roles/gwk-operator`),
        await cluster().get<KubeObject>(`${path}/rolebindings/gwk-operator`),
      ];
      return objects.map(({ body }) => body.metadata.finalizers ?? []);
    }
    const KEPT = [['gwk.dev/engine'], ['gwk.dev/engine']];
    const untilFinalizers = (wanted: unknown[]) =>
      until(async () => JSON.stringify(await readFinalizers()) === JSON.stringify(wanted), {
        what: `the Role and the RoleBinding have the finalizers ${JSON.stringify(wanted)}`,
      });

    test('ends with its Instances and engines', async () => {
      await startOperator();
      for (const name of ['a', 'b', 'c']) {
        await stage.create(name);
        await stage.untilIs(name, 'Ready', 'True');
      }
      await untilFinalizers(KEPT);
      await deleteNamespace();
      await untilNamespaceEnded();
    });

    test('ends although the operator restarts meanwhile', async () => {
      const first = await startOperator();
      await stage.create('a');
      await stage.untilIs('a', 'Ready', 'True');
      await untilFinalizers(KEPT);
      // Without the API, the operator cannot release the Instance yet.
      stage.internalApi.isAway = true;
      await deleteNamespace();
      await until(async () => (await stage.instance('a'))?.metadata.deletionTimestamp !== undefined, {
        what: 'the Instance is being deleted',
      });
      await stage.end(first);
      stage.internalApi.isAway = false;
      await startOperator();
      await untilNamespaceEnded();
    });

    test('ends at once if it has no Instances', async () => {
      await startOperator();
      await stage.create('a');
      await untilFinalizers(KEPT);
      await stage.delete('a');
      await stage.untilGone('a');
      await untilFinalizers([[], []]);
      await deleteNamespace();
      await untilNamespaceEnded();
    });

    test('an operator that stops removes its finalizers, so that an uninstallation ends', async () => {
      const operator = await startOperator();
      await stage.create('a');
      await untilFinalizers(KEPT);
      await stage.end(operator);
      expect(await readFinalizers()).toEqual([[], []]);
    });
  },
  { controllers: true, chart: true },
);

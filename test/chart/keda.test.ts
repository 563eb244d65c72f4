import { readDefinitions } from '../support/chart/definitions.js';
import { CHART, helm, withValues } from '../support/chart/render.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { objectPath, type KubeObject, type TestCluster } from '../support/kubernetes/test-cluster.js';
import { until } from '../support/wait.js';

/** Changes between a HorizontalPodAutoscaler and KEDA on a real API server. No controller runs, so nothing scales. */

const ADMISSION = 'admissionregistration.k8s.io/v1';
const HPA = '/apis/autoscaling/v2';
const KEDA = '/apis/keda.sh/v1alpha1';
const PRESENT = 4;

/** The rule of KEDA's webhook (scaledobject_webhook.go, `verifyHpas`), which looks at each HorizontalPodAutoscaler. */
const RULE = `params.metadata.?annotations['validations.keda.sh/hpa-ownership'].orValue('') == 'false'
  || params.spec.scaleTargetRef.name != object.spec.scaleTargetRef.name
  || params.metadata.?ownerReferences.orValue([]).exists(o, o.kind == 'ScaledObject' && o.name == object.metadata.name)`;

const buildRules = (namespace: string): KubeObject[] => [
  {
    apiVersion: ADMISSION,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'keda' },
    spec: {
      failurePolicy: 'Fail',
      paramKind: { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' },
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ['keda.sh'],
            apiVersions: ['v1alpha1'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['scaledobjects'],
          },
        ],
      },
      validations: [{ expression: RULE, message: 'already managed by the hpa' }],
    },
  },
  {
    apiVersion: ADMISSION,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'keda' },
    spec: {
      policyName: 'keda',
      validationActions: ['Deny'],
      paramRef: { selector: {}, parameterNotFoundAction: 'Allow' },
      matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } },
    },
  },
];

const buildValues = (kind: 'hpa' | 'keda') => ({
  crds: { enabled: false },
  postgres: { existingSecret: 'databases' },
  redis: { existingSecret: 'databases' },
  media: { folder: { existingClaim: 'shared' } },
  autoscaling: { prometheusUrl: 'http://prometheus.monitoring.svc:9090' },
  api: { autoscaling: { enabled: true, kind } },
  worker: { autoscaling: { enabled: true, kind } },
});

/** Returns how the server answers to a ScaledObject of a Deployment, without creating it. */
async function tryScaledObject(cluster: TestCluster, namespace: string, target: string): Promise<string> {
  const { status, body } = await cluster.call<{ message?: string }>(
    'POST',
    `${KEDA}/namespaces/${namespace}/scaledobjects?dryRun=All`,
    {
      body: {
        apiVersion: 'keda.sh/v1alpha1',
        kind: 'ScaledObject',
        metadata: { name: `tried-${target}` },
        spec: { scaleTargetRef: { name: target }, triggers: [{ type: 'cpu', metadata: { value: '70' } }] },
      },
    },
  );
  return status === 201 ? 'accepted' : (body.message ?? String(status));
}

describeOnKubernetes(
  'autoscaling of a release',
  (cluster) => {
    let namespace: string;
    const install = (kind: 'hpa' | 'keda') =>
      withValues(buildValues(kind), (file) => {
        const where = [`--kubeconfig=${cluster().plane.kubeconfig}`, `--namespace=${namespace}`];
        return helm('upgrade', '--install', 'gwk', CHART, ...where, `--values=${file}`);
      });
    const names = async (group: string, plural: string) => {
      const path = `${group}/namespaces/${namespace}/${plural}`;
      return (await cluster().list<KubeObject>(path)).map(({ metadata }) => metadata.name).sort();
    };
    const readReplicas = async (name: string) => {
      const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`;
      return (await cluster().get<{ spec: { replicas: number } }>(path)).body.spec.replicas;
    };

    beforeAll(async () => {
      namespace = await cluster().namespace('keda');
      for (const definition of readDefinitions()) await cluster().applied(definition);
      await until(async () => (await cluster().get(`${KEDA}/scaledobjects`)).status === 200, {
        what: 'ScaledObjects are served',
      });
      expect(install('hpa')).toMatchObject({ status: 0 });
      // As the autoscalers do.
      for (const name of ['gwk-api', 'gwk-worker'])
        await cluster().call('PATCH', `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`, {
          body: { spec: { replicas: PRESENT } },
          type: 'application/merge-patch+json',
        });
      for (const rule of buildRules(namespace)) await cluster().applied(rule);
      await cluster().post(`${HPA}/namespaces/${namespace}/horizontalpodautoscalers`, {
        metadata: { name: 'other' },
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'other' },
          maxReplicas: 2,
        },
      });
      // The rule then knows the autoscalers of the release too, which are older.
      await until(async () => (await tryScaledObject(cluster(), namespace, 'other')).includes('managed'), {
        what: 'the rule of KEDA holds',
      });
    });
    afterAll(async () => {
      for (const rule of buildRules(namespace).reverse()) await cluster().delete(objectPath(rule));
    });

    test.each([
      ['KEDA', 'keda', [], ['gwk-api', 'gwk-worker']],
      ['a HorizontalPodAutoscaler', 'hpa', ['gwk-api', 'gwk-worker'], []],
    ] as const)(
      'changes to %s in one upgrade and keeps its replicas',
      async (_, kind, hpas, scaledObjects) => {
        const { status, text } = install(kind);
        expect([status, text]).toEqual([0, expect.any(String)]);
        expect(await names(HPA, 'horizontalpodautoscalers')).toEqual([...hpas, 'other']);
        expect(await names(KEDA, 'scaledobjects')).toEqual(scaledObjects);
        for (const name of ['gwk-api', 'gwk-worker']) expect(await readReplicas(name)).toBe(PRESENT);
      },
    );
  },
  { chart: true, definitions: true },
);

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { buildEngine } from '../support/chart/engine-pod.js';
import { CHART, listPodTemplates, render } from '../support/chart/render.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { objectPath, type KubeObject, type TestCluster } from '../support/kubernetes/test-cluster.js';
import { until } from '../support/wait.js';

/** A real API server admits every pod of the chart and of the operator under the rules of strict clusters. */

/** Without volumes, whose claims a controller adds to the pods. */
const DEMO = { demo: { enabled: true, persistence: { enabled: false } } };

/** An expression that admits the ids of one range only, as OpenShift, Gatekeeper and Kyverno do. */
const inRange = (context: string, ...ids: string[]): string =>
  ids
    .map((id) => `${context}.?${id}.orValue(1000680000)`)
    .map((id) => `${id} >= 1000680000 && ${id} <= 1000689999`)
    .join(' && ');

const podInRange = inRange('object.spec.?securityContext', 'runAsUser', 'runAsGroup', 'fsGroup');
const containersInRange = ['containers', 'initContainers']
  .map(
    (list) =>
      `object.spec.?${list}.orValue([]).all(c, ${inRange('c.?securityContext', 'runAsUser', 'runAsGroup')})`,
  )
  .join(' && ');

const policyFor = (namespace: string): KubeObject[] => [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: `users-${namespace}` },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
        ],
      },
      validations: [
        { expression: podInRange, message: 'an id of the pod is out of range' },
        { expression: containersInRange, message: 'an id of a container is out of range' },
      ],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: `users-${namespace}` },
    spec: {
      policyName: `users-${namespace}`,
      validationActions: ['Deny'],
      matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } },
    },
  },
];

/** The pods of an installation, that of an engine included, as their controllers would create them. */
async function listPods(values: object, namespace: string): Promise<KubeObject[]> {
  const objects = render(values, { namespace });
  const templates = [...listPodTemplates(objects), ['Engine', buildEngine(objects, namespace)] as const];
  return templates.map(([owner, { metadata, spec }]) => {
    const own: Record<string, unknown> = { ...spec };
    // The service accounts are not created.
    delete own['serviceAccountName'];
    const name = owner.toLowerCase().replaceAll('/', '-');
    return { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name, namespace }, spec: own };
  });
}

async function findRefusals(cluster: TestCluster, pods: KubeObject[]): Promise<string[]> {
  const refused: string[] = [];
  for (const pod of pods) {
    const path = objectPath(pod).replace(/\/[^/]+$/, '?dryRun=All');
    const { status, body } = await cluster.call('POST', path, { body: pod });
    if (status >= 300) refused.push(`${pod.metadata.name}: ${body.message}`);
  }
  return refused;
}

/** Values with CPU and memory in every `resources` of the chart. */
function limitEverything(values: Record<string, unknown>): Record<string, unknown> {
  const filled = Object.entries(values).map(([name, value]) => {
    if (/^(resources|waitResources)$/.test(name)) {
      const amounts = { cpu: '100m', memory: '128Mi' };
      return [name, { requests: amounts, limits: amounts }];
    }
    const nested = typeof value === 'object' && value !== null && !Array.isArray(value);
    return [name, nested ? limitEverything(value as Record<string, unknown>) : value];
  });
  return Object.fromEntries(filled) as Record<string, unknown>;
}

describeOnKubernetes(
  'under a policy for users',
  (cluster) => {
    let namespace: string;
    beforeAll(async () => {
      namespace = await cluster().namespace('users');
      for (const object of policyFor(namespace)) await cluster().applied(object);
      const [pod] = await listPods({ ...DEMO, userIds: 'fixed' }, namespace);
      await until(async () => (await findRefusals(cluster(), [pod!])).length > 0, {
        what: 'the policy is enforced',
      });
    });

    test('every pod with assigned users is admitted', async () => {
      const pods = await listPods({ ...DEMO, userIds: 'assigned' }, namespace);
      expect(pods.length).toBeGreaterThanOrEqual(9);
      expect(await findRefusals(cluster(), pods)).toEqual([]);
    });

    test('every pod with the users of the images is refused', async () => {
      const pods = await listPods(DEMO, namespace);
      expect(await findRefusals(cluster(), pods)).toHaveLength(pods.length);
    });
  },
  { chart: true },
);

describeOnKubernetes(
  'under a quota on CPU and memory',
  (cluster) => {
    let namespace: string;
    beforeAll(async () => {
      namespace = await cluster().namespace('quota');
      const hard = {
        'requests.cpu': '8',
        'requests.memory': '8Gi',
        'limits.cpu': '8',
        'limits.memory': '16Gi',
      };
      const quota = {
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'all', namespace },
        spec: { hard },
      };
      await cluster().applied(quota);
      // As the controller of quotas does.
      const status = { hard, used: Object.fromEntries(Object.keys(hard).map((name) => [name, '0'])) };
      await cluster().call('PATCH', `${objectPath(quota)}/status`, {
        body: { status },
        type: 'application/merge-patch+json',
      });
      const bare = (await listPods(DEMO, namespace))[0]!;
      await until(async () => (await findRefusals(cluster(), [bare])).length > 0, {
        what: 'the quota is enforced',
      });
    });

    test('every pod is admitted once the values set its resources', async () => {
      const values = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as Record<string, unknown>;
      const demo = { ...(values['demo'] as object), ...DEMO.demo };
      const limited = limitEverything({ ...values, demo });
      expect(await findRefusals(cluster(), await listPods(limited, namespace))).toEqual([]);
    });
  },
  { chart: true },
);

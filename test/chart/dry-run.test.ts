import { find, MINIMAL_VALUES, render } from '../support/chart/render.js';
import { INSTALLATIONS } from './values.js';
import { readDefinitions } from '../support/chart/definitions.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { objectPath, type KubeObject, type TestCluster } from '../support/kubernetes/test-cluster.js';
import { until } from '../support/wait.js';

/** A real API server validates every object of every installation, in a namespace with the restricted pod security level. */

/** Kinds from CRDs of other projects. */
const FOREIGN = [
  'HTTPRoute',
  'Certificate',
  'PodMonitor',
  'PrometheusRule',
  'ScaledObject',
  'ServiceMonitor',
];

const isForeign = ({ kind = '' }: KubeObject): boolean => FOREIGN.includes(kind);

const dryRun = (cluster: TestCluster, object: KubeObject) =>
  cluster.call(
    'PATCH',
    `${objectPath(object)}?dryRun=All&fieldManager=chart&force=true&fieldValidation=Strict`,
    {
      body: object,
      type: 'application/apply-patch+yaml',
    },
  );

async function findRefusals(cluster: TestCluster, objects: KubeObject[]): Promise<string[]> {
  const refused: string[] = [];
  for (const object of objects) {
    const { status, body } = await dryRun(cluster, object);
    if (status >= 300) refused.push(`${object.kind} ${object.metadata.name}: ${status} ${body.message}`);
  }
  return refused;
}

describeOnKubernetes(
  'every object of the chart',
  (cluster) => {
    let namespace: string;
    beforeAll(async () => {
      namespace = await cluster().namespace('chart');
      for (const other of ['shop', 'support', 'messages']) {
        await cluster().post('/api/v1/namespaces', { metadata: { name: other } });
        // As the controller of service accounts does.
        await cluster().post(`/api/v1/namespaces/${other}/serviceaccounts`, {
          metadata: { name: 'default' },
        });
      }
    });

    test.each(Object.keys(INSTALLATIONS))('%s: is accepted without unknown fields', async (way) => {
      const objects = render(INSTALLATIONS[way]!, { namespace });
      const own = objects.filter((object) => !isForeign(object));
      // The API server admits the pod of the test only if its service account exists.
      for (const account of objects.filter(({ kind }) => kind === 'ServiceAccount'))
        await cluster().applied(account);
      expect(await findRefusals(cluster(), own)).toEqual([]);
    });

    test.each(['demo', 'everything at once'])('%s: a second apply changes nothing', async (way) => {
      const own = render(INSTALLATIONS[way]!, { namespace }).filter((object) => !isForeign(object));
      const changed: string[] = [];
      for (const object of own) {
        const { metadata: first } = await cluster().applied(object);
        const { metadata: second } = await cluster().applied(object);
        if (second.generation !== first.generation) changed.push(`${object.kind} ${object.metadata.name}`);
      }
      expect(changed).toEqual([]);
    });

    test('its pods meet the restricted pod security level', async () => {
      const objects = render(INSTALLATIONS['demo without volumes']!, { namespace });
      for (const object of objects) {
        const template = (object['spec'] as { template?: { metadata: object; spec: object } })?.template;
        if (!template) continue;
        const name = object.metadata.name;
        const pod = {
          apiVersion: 'v1',
          kind: 'Pod',
          ...template,
          metadata: { ...template.metadata, name, namespace },
        };
        const spec: Record<string, unknown> = { ...template.spec };
        delete spec['serviceAccountName'];
        const { status, body } = await dryRun(cluster(), { ...pod, spec });
        expect([name, status, body.message]).toEqual([name, expect.any(Number), undefined]);
        expect(status).toBeLessThan(300);
      }
    });

    test('the server refuses a pod that does not', async () => {
      const objects = render(MINIMAL_VALUES, { namespace });
      const { template } = find(objects, 'Deployment', 'gwk-worker')['spec'] as {
        template: { metadata: object; spec: { securityContext: object; serviceAccountName?: string } };
      };
      const spec = { ...template.spec, securityContext: {} };
      delete spec.serviceAccountName;
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'loose', namespace }, spec };
      expect((await dryRun(cluster(), pod as unknown as KubeObject)).status).toBe(403);
    });

    test('the server refuses a misspelt field', async () => {
      const service = find(render(MINIMAL_VALUES, { namespace }), 'Service', 'gwk-api');
      const spec = { ...(service['spec'] as object), selektor: {} };
      const { status } = await dryRun(cluster(), { ...service, spec });
      expect(status).toBeGreaterThanOrEqual(400);
    });
  },
  { chart: true },
);

describeOnKubernetes(
  'every object of a foreign kind',
  (cluster) => {
    const made = new Map<string, KubeObject[]>(FOREIGN.map((kind) => [kind, []]));
    beforeAll(async () => {
      const namespace = await cluster().namespace('foreign');
      for (const definition of readDefinitions()) await cluster().applied(definition);
      const objects = Object.values(INSTALLATIONS).flatMap((values) => render(values, { namespace }));
      for (const object of objects.filter(isForeign)) made.get(object.kind!)!.push(object);
      for (const [kind, [first]] of made) {
        const list = `/apis/${first!.apiVersion}/${kind.toLowerCase()}s`;
        await until(async () => (await cluster().get(list)).status === 200, { what: `${kind} is served` });
      }
    });

    test.each(FOREIGN)('%s: is accepted without unknown fields', async (kind) => {
      expect(made.get(kind)).not.toEqual([]);
      expect(await findRefusals(cluster(), made.get(kind)!)).toEqual([]);
    });

    test.each(FOREIGN)('%s: is refused with a misspelt field', async (kind) => {
      const [object] = made.get(kind)!;
      const spec = { ...(object!['spec'] as object), misspelt: true };
      const { status, body } = await dryRun(cluster(), { ...object!, spec });
      expect([status, body.message]).toEqual([expect.any(Number), expect.stringContaining('misspelt')]);
      expect(status).toBeGreaterThanOrEqual(400);
    });
  },
  { chart: true, definitions: true },
);

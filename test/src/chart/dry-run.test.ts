import { find, LEAST, render } from '../harness/chart/render.js';
import { WAYS } from '../harness/chart/values.js';
import { describeOnKubernetes } from '../harness/kubernetes/suite.js';
import { pathOf, type KubeObject } from '../harness/kubernetes/test-cluster.js';

/** Every object of every way of installing, judged by a real API server, in a namespace of the restricted kind. */

/** Definitions that are no part of Kubernetes and not of this chart. */
const FOREIGN = ['HTTPRoute', 'Certificate', 'PodMonitor', 'PrometheusRule'];

describeOnKubernetes(
  'every object that the chart makes',
  (cluster) => {
    let namespace: string;
    beforeAll(async () => {
      namespace = await cluster().namespace('chart');
      for (const other of ['shop', 'support', 'messages'])
        await cluster().post('/api/v1/namespaces', { metadata: { name: other } });
    });

    const dryRun = (object: KubeObject) =>
      cluster().call(
        'PATCH',
        `${pathOf(object)}?dryRun=All&fieldManager=chart&force=true&fieldValidation=Strict`,
        {
          body: object,
          type: 'application/apply-patch+yaml',
        },
      );

    test.each(Object.keys(WAYS))(
      '%s: is taken, and no field of it is unknown',
      async (way) => {
        const objects = render(WAYS[way]!, { namespace });
        const refused: string[] = [];
        for (const object of objects.filter(({ kind = '' }) => !FOREIGN.includes(kind))) {
          const { status, body } = await dryRun(object);
          if (status >= 300)
            refused.push(`${object.kind} ${object.metadata.name}: ${status} ${body.message}`);
        }
        expect(refused).toEqual([]);
      },
      60_000,
    );

    test('its pods are of the restricted kind, which the namespace asks for', async () => {
      const objects = render(WAYS['a trial']!, { namespace });
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
        const { status, body } = await dryRun({ ...pod, spec });
        expect([name, status, body.message]).toEqual([name, expect.any(Number), undefined]);
        expect(status).toBeLessThan(300);
      }
    });

    test('a pod that is not, is refused: the server does look', async () => {
      const objects = render(LEAST, { namespace });
      const { template } = find(objects, 'Deployment', 'gwk-worker')['spec'] as {
        template: { metadata: object; spec: { securityContext: object; serviceAccountName?: string } };
      };
      const spec = { ...template.spec, securityContext: {} };
      delete spec.serviceAccountName;
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'loose', namespace }, spec };
      expect((await dryRun(pod as unknown as KubeObject)).status).toBe(403);
    });

    test('a misspelt field is refused: the server does look', async () => {
      const service = find(render(LEAST, { namespace }), 'Service', 'gwk-api');
      const { status } = await dryRun({ ...service, spec: { ...(service['spec'] as object), selektor: {} } });
      expect(status).toBeGreaterThanOrEqual(400);
    });
  },
  { chart: true },
);

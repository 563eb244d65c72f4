import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PolicyOverrides } from '@gwk/api/policy/policy';
import { parseAllDocuments } from 'yaml';
import { CHART, MINIMAL_VALUES, render, templateText } from '../support/chart/render.js';
import { describeChart } from './suite.js';

/** Values that YAML 1.1, as Helm reads it, takes for numbers, booleans or null. Each occurs once, so that a fault names it. */
const VALUES = {
  fullnameOverride: '1001',
  commonLabels: { team: '1002' },
  placement: { priorityClassName: '1003' },
  postgres: { existingSecret: '1004', urlKey: '1005', migrationsExistingSecret: '1006' },
  redis: { existingSecret: '1007', urlKey: '1008', tls: { caSecret: '1009', caKey: '1010' } },
  secrets: { existingSecret: '1011', encryptionKeysKey: '1012', operatorTokenKey: '1013' },
  internal: { tls: { certManager: { enabled: true, issuerRef: { name: '1014' } } } },
  media: { folder: { storageClassName: '1015' } },
  api: {
    serviceAccount: { name: '1016' },
    portals: { existingSecret: '1017', tokenKey: '1018' },
    service: { loadBalancerClass: '1019', type: 'LoadBalancer' },
  },
  worker: { serviceAccount: { create: false, name: '1020' } },
  operator: { serviceAccount: { name: '1021' }, namespaces: ['1022', 'no'] },
  ingress: { enabled: true, className: '1023', hosts: ['api.example.com'] },
  proxy: { existingSecret: '1024', urlKey: '1025' },
  networkPolicy: { proxy: [{ ipBlock: { cidr: '192.0.2.1/32' } }] },
  smtp: { host: 'smtp.example.com', from: 'a@example.com', existingSecret: '1026', passwordKey: '1027' },
};
const DEMO = { demo: { enabled: true, persistence: { storageClassName: '1030' } }, nameOverride: '1031' };

/** Numbers are right for ports, times and sizes. None of them is in this range. */
const isNamed = (value: unknown): boolean => typeof value === 'number' && value >= 1001 && value <= 1099;

function listUnquoted(value: unknown, path = ''): string[] {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, inner]) => listUnquoted(inner, `${path}.${name}`));
  return isNamed(value) ? [`${path}: ${String(value)}`] : [];
}

describeChart('names that YAML reads as numbers', () => {
  test.each([
    ['of existing objects', VALUES],
    ['of the demo', DEMO],
  ])('%s are strings', (_, values) => {
    const text = templateText(values, { release: '1050', namespace: '1051' });
    const objects = parseAllDocuments(text, { version: '1.1' }).map((document) => document.toJS() as unknown);
    expect(objects.flatMap((object) => listUnquoted(object))).toEqual([]);
  });

  test('a namespace called `no` is a string', () => {
    const text = templateText(DEMO, { namespace: 'no' });
    const namespaces = parseAllDocuments(text, { version: '1.1' })
      .map((document) => document.toJS() as { metadata: { namespace?: unknown } } | null)
      .filter((object) => object !== null)
      .map(({ metadata }) => metadata.namespace);
    expect(new Set(namespaces)).toEqual(new Set(['no', undefined]));
  });
});

describeChart('names of objects', () => {
  test('of the whole cluster differ between releases', () => {
    const listClusterWide = (namespace: string, release: string) =>
      render(DEMO, { namespace, release }).flatMap(({ kind, metadata }) =>
        metadata.namespace === undefined && kind !== 'CustomResourceDefinition'
          ? [`${kind} ${metadata.name}`]
          : [],
      );
    const [one, other] = [listClusterWide('acme', 'eu-1031'), listClusterWide('acme-eu', '1031')];
    expect(one.length).toBeGreaterThan(3);
    expect(one.filter((name) => other.includes(name))).toEqual([]);
  });

  test('leave room for the labels that Kubernetes derives from them', () => {
    const release = 'a'.repeat(53);
    const tooLong = render(DEMO, { release }).filter(({ kind, metadata: { name, namespace } }) => {
      // A StatefulSet labels its pods with its name, a dash and a hash of 10 characters.
      const limit = kind === 'StatefulSet' ? 52 : 63;
      return namespace !== undefined && name.length > limit;
    });
    expect(tooLong.map(({ metadata }) => metadata.name)).toEqual([]);
  });
});

describeChart('values that would only fail in pods', () => {
  test.each([
    ['an image registry with a scheme', { image: { registry: 'https://registry.example.com' } }],
    ['an unknown field of the policy', { policy: { messages_per_minut: 5 } }],
    ['an unknown field of resources', { api: { resources: { limit: { memory: '1Gi' } } } }],
    ['a disruption budget that blocks every drain', { api: { podDisruptionBudget: { maxUnavailable: 0 } } }],
    ['a disruption budget of 0 %', { worker: { podDisruptionBudget: { maxUnavailable: '0%' } } }],
  ])('are refused: %s', (_, values) => {
    expect(() => render({ ...MINIMAL_VALUES, ...values })).toThrow(/values don't meet|schema/i);
  });

  test('the schema knows every field of a policy', () => {
    const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as {
      properties: { policy: { propertyNames: { enum: string[] } } };
    };
    expect(schema.properties.policy.propertyNames.enum.sort()).toEqual(
      PolicyOverrides.keyof().options.toSorted(),
    );
  });
});

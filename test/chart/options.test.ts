import { parse } from 'yaml';
import {
  CHART,
  find,
  helm,
  listPodTemplates,
  MINIMAL_VALUES,
  render,
  templateText,
  withValues,
} from '../support/chart/render.js';
import { describeChart } from './suite.js';
import { INSTALLATIONS, SIDECAR } from './values.js';

/** A real API server accepts these objects in dry-run.test.ts. */
const PLATFORM = INSTALLATIONS['names, containers and Services of the platform']!;
const PROGRAMS = ['api', 'worker', 'operator'];

const specOf = (kind: string, name: string, values = PLATFORM) =>
  find(render(values), kind, name)['spec'] as Record<string, unknown>;

describeChart('values for the rules of a platform', () => {
  test('namespaceOverride moves every object and every address', () => {
    const objects = render(PLATFORM);
    const namespaces = objects.flatMap(({ metadata }) => metadata.namespace ?? []);
    expect(new Set(namespaces)).toEqual(new Set(['shop']));
    expect(templateText(PLATFORM)).not.toMatch(/namespace: messages|\.messages\.svc|["=]messages[",]/);
  });

  test('all programs that know the largest file have the same limit, of 64 to 2,000 MB', () => {
    const values = (maxSize: number) => ({ ...MINIMAL_VALUES, media: { maxSize } });
    const programs = listPodTemplates(render(values(2_000)));
    for (const program of PROGRAMS) {
      const { env } = programs.get(`Deployment/gwk-${program}`)!.spec.containers[0]!;
      expect(env).toContainEqual({ name: 'GWK_MEDIA_MAX_MB', value: '2000' });
    }
    for (const wrong of [63, 2_001]) expect(() => render(values(wrong))).toThrow(/maxSize/);
  });

  test('global values reach every pod and the engines', () => {
    const secrets = [{ name: 'other' }, { name: 'mirror' }];
    for (const [name, { spec }] of listPodTemplates(render(PLATFORM))) {
      expect([name, spec['imagePullSecrets']]).toEqual([name, secrets]);
      expect([name, spec.containers[0]!.image]).toEqual([
        name,
        expect.stringMatching(/^mirror\.example\.com\/all\/gwk\/gwk-\w+:/),
      ]);
    }
    const { data } = find(render(PLATFORM), 'ConfigMap', 'gwk-operator-profiles') as unknown as {
      data: Record<string, string>;
    };
    expect(data['profiles.yaml']).toContain('image: mirror.example.com/all/gwk/gwk-engine:');
    expect(data['profiles.yaml']).toContain('name: mirror');
  });

  test.each([
    ['docker.io/library/postgres:18', 'mirror:5000/library/postgres:18'],
    ['localhost/postgres', 'mirror:5000/postgres'],
    ['library/postgres@sha256:abc', 'mirror:5000/library/postgres@sha256:abc'],
  ])('global.imageRegistry replaces the host of %s', (image, expected) => {
    const values = {
      global: { imageRegistry: 'mirror:5000/' },
      demo: { enabled: true, postgres: { image } },
    };
    expect(() => render(values)).toThrow(/imageRegistry/);
    const given = { ...values, global: { imageRegistry: 'mirror:5000' } };
    const pods = listPodTemplates(render(given));
    expect(pods.get('StatefulSet/gwk-demo-postgres')!.spec.containers[0]!.image).toBe(expected);
    expect(pods.get('Deployment/gwk-api')!.spec.containers[0]!.image).toMatch(/^mirror:5000\/gwk-api:/);
  });

  test('service accounts have their own names, and rights follow them', () => {
    const objects = render(PLATFORM);
    const names = objects.flatMap(({ kind, metadata }) => (kind === 'ServiceAccount' ? metadata.name : []));
    expect(names.sort()).toEqual(['own-migrations', 'own-operator', 'own-secrets', 'own-worker']);
    const pods = [...listPodTemplates(objects).values()].map(({ spec }) => spec.serviceAccountName);
    expect(new Set(pods)).toEqual(new Set([...names, 'own-api']));
    const bound = objects.flatMap((object) => (object['subjects'] as { name: string }[] | undefined) ?? []);
    expect(new Set(bound.map(({ name }) => name))).toEqual(
      new Set(['own-api', 'own-operator', 'own-secrets']),
    );
    const roles = objects.filter(({ kind }) => kind === 'Role').map(({ metadata }) => metadata.name);
    expect(roles.sort()).toEqual(['gwk-api', 'gwk-operator', 'gwk-operator-leader', 'gwk-secrets']);
  });

  test('every pod resolves names as the values say', () => {
    for (const { spec } of listPodTemplates(render({ ...PLATFORM, demo: { enabled: true } })).values())
      expect(spec).toMatchObject({
        dnsConfig: { options: [{ name: 'ndots', value: '1' }] },
        hostAliases: [{ ip: '192.0.2.9', hostnames: ['postgres.example.com'] }],
      });
  });

  test('CRD and media stay after helm uninstall, and when Argo CD prunes', () => {
    const kept = {
      'helm.sh/resource-policy': 'keep',
      'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
    };
    const annotationsOf = (values: object) =>
      find(render(values), 'CustomResourceDefinition', 'instances.gwk.dev').metadata['annotations'];
    expect(annotationsOf(MINIMAL_VALUES)).toEqual(kept);
    const claim = find(render(MINIMAL_VALUES), 'PersistentVolumeClaim', 'gwk-media');
    expect(claim.metadata['annotations']).toEqual(kept);
    expect(annotationsOf({ ...MINIMAL_VALUES, crds: { keep: false } })).toBeUndefined();
  });

  test('engines resolve names as the other pods, unless their profile says otherwise', () => {
    const own = {
      dnsConfig: { nameservers: ['192.0.2.53'] },
      dnsPolicy: 'None',
      serviceAccountName: 'engines',
    };
    const objects = render({ ...PLATFORM, engine: { profiles: { own, named: { hostAliases: [] } } } });
    const { data } = find(objects, 'ConfigMap', 'gwk-operator-profiles') as unknown as {
      data: Record<string, string>;
    };
    const dnsConfig = { options: [{ name: 'ndots', value: '1' }] };
    const hostAliases = [{ ip: '192.0.2.9', hostnames: ['postgres.example.com'] }];
    const profiles = parse(data['profiles.yaml']!) as Record<string, object>;
    expect(profiles['default']).toMatchObject({ dnsConfig, hostAliases });
    expect(profiles['own']).toMatchObject({ ...own, hostAliases });
    expect(profiles['own']).toHaveProperty('dnsConfig', own.dnsConfig);
    expect(profiles['named']).toMatchObject({ dnsConfig, hostAliases: [] });
  });

  test.each(PROGRAMS)('%s has further containers, a strategy and a history', (program) => {
    const deployment = specOf('Deployment', `gwk-${program}`);
    expect(deployment).toMatchObject({ strategy: { type: 'Recreate' }, revisionHistoryLimit: 5 });
    expect(deployment['strategy']).not.toHaveProperty('rollingUpdate');
    const { spec } = listPodTemplates(render(PLATFORM)).get(`Deployment/gwk-${program}`)!;
    expect(spec.containers.at(-1)).toEqual(SIDECAR);
    expect(spec.initContainers!.at(-1)).toEqual({ ...SIDECAR, name: 'init' });
  });

  test.each(PROGRAMS)('replicas of %s prefer different zones, unless the values say otherwise', (program) => {
    const read = (values: object) =>
      listPodTemplates(render(values)).get(`Deployment/gwk-${program}`)!.spec['topologySpreadConstraints'];
    expect(read(MINIMAL_VALUES)).toEqual([
      expect.objectContaining({
        topologyKey: 'topology.kubernetes.io/zone',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': program }) },
      }),
    ]);
    const own = [{ maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' }];
    expect(read({ ...MINIMAL_VALUES, [program]: { topologySpreadConstraints: own } })).toEqual(own);
  });

  test('Services have the IP families, and the public one its load balancer', () => {
    const families = { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv4'] };
    expect(specOf('Service', 'gwk-api')).toMatchObject({
      ...families,
      loadBalancerClass: 'example.com/public',
      externalTrafficPolicy: 'Local',
    });
    expect(specOf('Service', 'gwk-internal')).toMatchObject(families);
    expect(specOf('Service', 'gwk-api', MINIMAL_VALUES)).not.toHaveProperty('ipFamilyPolicy');
  });

  test('the Ingress has paths and further rules', () => {
    const { rules } = specOf('Ingress', 'gwk-api') as {
      rules: { host: string; http: { paths: { path: string }[] } }[];
    };
    expect(rules.map(({ host, http }) => [host, ...http.paths.map(({ path }) => path)])).toEqual([
      ['api.example.com', '/v1/', '/openapi.json'],
      ['api.example.org', '/v1/', '/openapi.json'],
      ['files.example.com', '/'],
    ]);
  });

  test('the route has filters, timeouts and further rules', () => {
    const { rules } = specOf('HTTPRoute', 'gwk-api') as { rules: object[] };
    expect(rules).toEqual([
      expect.objectContaining({
        filters: [expect.objectContaining({ type: 'ResponseHeaderModifier' })],
        timeouts: { request: '10m' },
      }),
      { backendRefs: [{ name: 'files', port: 80 }] },
    ]);
  });
});

describeChart('objects outside of namespaces', () => {
  /** Kinds and names without the prefix of namespace and release. */
  const clusterWide = (values: object) =>
    render({ ...MINIMAL_VALUES, ...values })
      .filter(({ metadata }) => metadata.namespace === undefined)
      .map(({ kind, metadata }) => `${kind} ${metadata.name.replace('messages.gwk-', '')}`)
      .sort();
  const NONE = {
    operator: { watchNodes: false, endDeletedNamespaces: false, restrictWrites: false },
    crds: { enabled: false },
    rbac: { aggregate: false },
  };
  const POLICY = [
    'ValidatingAdmissionPolicy operator-elsewhere',
    'ValidatingAdmissionPolicyBinding operator-elsewhere',
  ];

  test.each([
    ['without', NONE, []],
    [
      'with the CRD alone',
      { ...NONE, crds: { migrateStorage: false } },
      ['CustomResourceDefinition instances.gwk.dev'],
    ],
    [
      'to migrate stored Instances',
      { ...NONE, crds: { migrateStorage: true } },
      [
        'ClusterRole operator-storage',
        'ClusterRoleBinding operator-storage',
        'CustomResourceDefinition instances.gwk.dev',
        ...POLICY,
      ],
    ],
    [
      'to end deleted namespaces',
      { ...NONE, operator: { ...NONE.operator, endDeletedNamespaces: true } },
      ['ClusterRole operator-leave', 'ClusterRoleBinding operator-leave', ...POLICY],
    ],
    [
      'to restrict writes of the operator',
      { ...NONE, operator: { ...NONE.operator, restrictWrites: true } },
      ['ValidatingAdmissionPolicy operator-writes', 'ValidatingAdmissionPolicyBinding operator-writes'],
    ],
  ])('%s', (_, values, expected) => {
    expect(clusterWide(values)).toEqual(expected);
  });

  test.each([
    ['only patches that change nothing, to migrate', NONE, { migrateStorage: true }, /^has\(request/],
    ['nothing, without a migration', { ...NONE, operator: {} }, { enabled: false }, /^false$/],
  ])('the policy allows %s', (_, values, crds, expression) => {
    const name = 'messages.gwk-operator-elsewhere';
    const objects = render({ ...MINIMAL_VALUES, ...values, crds });
    const { validations } = find(objects, 'ValidatingAdmissionPolicy', name)['spec'] as {
      validations: { expression: string }[];
    };
    expect(validations).toEqual([
      expect.objectContaining({ expression: expect.stringMatching(expression) as string }),
    ]);
  });
});

interface Rule {
  to?: unknown[];
  ports: { port: number }[];
}

/** Egress rules without peers, as `policy: port`. */
function findOpenRules(values: object): string[] {
  return render(values)
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .flatMap(({ metadata, spec }) =>
      ((spec as { egress?: Rule[] }).egress ?? [])
        .filter(({ to }) => to === undefined)
        .map(({ ports }) => `${metadata.name}: ${ports.map(({ port }) => port).join(', ')}`),
    )
    .sort();
}

function notes(values: object): string {
  const { status, text } = withValues(values, (file) =>
    helm('install', 'gwk', CHART, '--namespace', 'messages', '--dry-run=client', '--values', file),
  );
  if (status !== 0) throw new Error(text);
  return text.slice(text.indexOf('\nNOTES:'));
}

const PEER = [{ ipBlock: { cidr: '192.0.2.0/24' } }];
const OBSERVED = {
  ...MINIMAL_VALUES,
  monitoring: {
    prometheus: { url: 'https://prometheus.example.com' },
    tracing: { endpoint: 'https://collector.example.com' },
  },
};

describeChart('egress', () => {
  test('rules without peers are listed by NOTES.txt', () => {
    expect(findOpenRules(OBSERVED)).toHaveLength(14);
    const text = notes(OBSERVED);
    for (const value of ['kubernetesApi', 'postgres', 'redis', 'prometheus', 'collector'])
      expect(text).toContain(`networkPolicy.${value} (port`);
  });

  test('the documented values close every rule', () => {
    const networkPolicy = {
      ...{ kubernetesApi: PEER, postgres: PEER, redis: PEER, prometheus: PEER, collector: PEER },
    };
    expect(findOpenRules({ ...OBSERVED, networkPolicy })).toEqual([]);
    expect(notes({ ...OBSERVED, networkPolicy })).not.toContain('WARNING');
  });

  test('Services in the connection URLs are peers', () => {
    const values = {
      postgres: { url: 'postgresql://u:p@db.data.svc.cluster.local/gwk' },
      redis: { url: 'redis://:p@redis.cache.svc:6379' },
      monitoring: {
        prometheus: { url: 'http://prometheus.monitoring.svc:9090' },
        tracing: { endpoint: 'http://collector.tracing.svc:4318' },
      },
      networkPolicy: { kubernetesApi: PEER },
    };
    expect(findOpenRules(values)).toEqual([]);
    const { egress } = specOf('NetworkPolicy', 'gwk-migrations', values) as { egress: Rule[] };
    expect(egress.at(-1)!.to).toEqual([
      { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'data' } } },
    ]);
  });

  test.each([
    ['a name outside', { url: 'postgresql://u:p@svc.example.com/gwk' }],
    ['a name that only begins like one', { url: 'postgresql://u:p@a.b.svcs.example.com/gwk' }],
    ['a Secret', { existingSecret: 'databases', url: 'postgresql://u:p@db.data.svc/gwk' }],
    [
      'a Secret for migrations',
      { url: 'postgresql://u:p@db.data.svc/gwk', migrationsExistingSecret: 'direct' },
    ],
  ])('%s leaves Postgres without peers', (_what, postgres) => {
    expect(findOpenRules({ ...MINIMAL_VALUES, postgres })).toContain('gwk-migrations: 5432');
  });
});

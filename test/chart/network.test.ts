import { FORBIDDEN_IPV4, FORBIDDEN_IPV6, PublicAddresses } from '@gwk/api/platform/address-guard/ranges';
import { MINIMAL_VALUES, listPodTemplates, render } from '../support/chart/render.js';
import { isAllowed, type End, type NetworkPod } from './network.js';
import { describeChart } from './suite.js';
import type { KubeObject } from '../support/kubernetes/test-cluster.js';

/** Checks every pair of pods and addresses at every port: exactly the listed connections are allowed. */
const NAMESPACE = 'messages';

const ENGINE_LABELS = {
  'app.kubernetes.io/managed-by': 'gwk-operator',
  'app.kubernetes.io/component': 'engine',
};

const OUTSIDE: Record<string, End> = {
  dns: { namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } },
  prometheus: { namespace: 'monitoring', labels: { app: 'prometheus' } },
  neighbour: { namespace: NAMESPACE, labels: { app: 'neighbour' } },
  stranger: { namespace: 'strange', labels: { app: 'stranger' } },
  'engine of a stranger': { namespace: 'strange', labels: ENGINE_LABELS },
  internet: { address: '93.184.216.34' },
  'internet by IPv6': { address: '2606:2800:220:1::1' },
  'private address': { address: '10.1.2.3' },
  'private address by IPv6': { address: 'fd00::1' },
  metadata: { address: '169.254.169.254' },
  'forbidden range': { address: '93.185.1.9' },
};

/** The first address of each refused range, addresses next to ranges, and IPv6 addresses that embed IPv4. */
const ADDRESSES = [
  ...[...FORBIDDEN_IPV4, ...FORBIDDEN_IPV6].map((range) => range.split('/')[0]!),
  ...[
    '93.184.216.34',
    '2606:2800:220:1::1',
    '1.0.0.0',
    '11.0.0.0',
    '100.128.0.0',
    '168.63.129.17',
    '172.32.0.0',
  ],
  ...['192.0.1.0', '198.20.0.0', '223.255.255.255', '255.255.255.255', '169.254.169.254', '2001:200::'],
  ...['::', '::1', '::ffff:10.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::1', '1fff::1', '4000::1', '5f00::1'],
  ...['fc00::1', 'fd00::1', 'fe80::1', 'fec0::1', 'ff02::1', '3fff:1000::1'],
];

const PORTS: Record<string, [number, 'TCP' | 'UDP'][]> = {
  all: [53, 80, 443, 5222, 5432, 6379, 6443, 8080, 8081, 8082, 8083, 8084, 8085].map((port) => [port, 'TCP']),
  udp: [[53, 'UDP']],
};

function endpoints(objects: KubeObject[], namespaces: string[]): Record<string, End> {
  const own: Record<string, End> = {};
  for (const { metadata } of listPodTemplates(objects).values()) {
    own[metadata.labels['app.kubernetes.io/component']!] = { namespace: NAMESPACE, labels: metadata.labels };
  }
  for (const namespace of namespaces) {
    own[namespace === NAMESPACE ? 'engine' : `engine in ${namespace}`] = { namespace, labels: ENGINE_LABELS };
  }
  return { ...own, ...OUTSIDE };
}

/** Every allowed connection to or from a gateway pod, as `from -> to: ports`. */
function allowedConnections(values: object, namespaces = [NAMESPACE]): string[] {
  const objects = render(values, { namespace: NAMESPACE });
  const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
  const ends = Object.entries(endpoints(objects, namespaces));
  const lines: string[] = [];
  for (const [source, from] of ends) {
    for (const [target, to] of ends) {
      if (source === target || (source in OUTSIDE && target in OUTSIDE)) continue;
      const ports = [...PORTS['all']!, ...PORTS['udp']!]
        .filter(([port, protocol]) => isAllowed(policies, { from, to, port, protocol }))
        .map(([port, protocol]) => (protocol === 'UDP' ? `${port}/UDP` : `${port}`));
      if (ports.length > 0) lines.push(`${source} -> ${target}: ${ports.join(' ')}`);
    }
  }
  return lines.sort();
}

const WITH_PROMETHEUS = {
  forbiddenRanges: ['93.185.1.0/24'],
  networkPolicy: {
    metrics: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
  },
};

const DNS = '53 53/UDP';
const ALL = '53 80 443 5222 5432 6379 6443 8080 8081 8082 8083 8084 8085';

describeChart('NetworkPolicies', () => {
  test('of the demo allow exactly these connections', () => {
    expect(allowedConnections({ ...WITH_PROMETHEUS, demo: { enabled: true } })).toEqual(
      [
        // The public port is open to all. Metrics have a port of their own, for Prometheus.
        ...['dns', 'neighbour', 'stranger', 'engine of a stranger'].map((from) => `${from} -> api: 8080`),
        'prometheus -> api: 8080 8085',
        ...[
          'internet',
          'internet by IPv6',
          'private address',
          'private address by IPv6',
          'metadata',
          'forbidden range',
        ].map((from) => `${from} -> api: 8080`),
        'test -> api: 8080',
        'engine -> api: 8081',
        'operator -> api: 8081',
        ...['api', 'worker', 'migrations'].map((from) => `${from} -> demo-postgres: 5432`),
        ...['api', 'worker', 'engine'].map((from) => `${from} -> demo-redis: 6379`),
        'prometheus -> worker: 8082',
        'prometheus -> operator: 8083',
        'prometheus -> engine: 8084',
        ...['api', 'worker', 'operator', 'engine', 'migrations', 'secrets', 'test'].map(
          (from) =>
            `${from} -> dns: ${['api', 'operator', 'secrets', 'test'].includes(from) ? '53 443 6443 53/UDP' : DNS}`,
        ),
        // The Kubernetes API is not a pod, and the chart cannot know its address.
        ...['api', 'operator', 'secrets', 'test'].flatMap((from) =>
          [
            'neighbour',
            'prometheus',
            'stranger',
            'engine of a stranger',
            'internet',
            'internet by IPv6',
            'private address',
            'private address by IPv6',
            'metadata',
            'forbidden range',
          ].map((to) => `${from} -> ${to}: 443 6443`),
        ),
        ...['internet', 'internet by IPv6'].flatMap((to) => [
          `engine -> ${to}: 443`,
          `worker -> ${to}: ${ALL}`,
        ]),
      ].sort(),
    );
  });

  test('engines reach only DNS, Redis, the internal API and the network', () => {
    const engine = allowedConnections({ ...WITH_PROMETHEUS, demo: { enabled: true } }).filter((line) =>
      line.startsWith('engine -> '),
    );
    expect(engine).toEqual([
      'engine -> api: 8080 8081'.replace('8080 ', ''),
      'engine -> demo-redis: 6379',
      `engine -> dns: ${DNS}`,
      'engine -> internet by IPv6: 443',
      'engine -> internet: 443',
    ]);
  });

  test('networkPolicy.kubernetesApi limits API and operator to these addresses', () => {
    const values = {
      ...MINIMAL_VALUES,
      networkPolicy: { kubernetesApi: [{ ipBlock: { cidr: '10.1.2.3/32' } }] },
    };
    expect(
      allowedConnections(values).filter((line) => line.includes(' 6443') || line.endsWith(': 6443')),
    ).toEqual(
      [
        'api -> private address: 443 5432 6379 6443',
        'operator -> private address: 443 6443',
        'secrets -> private address: 443 6443',
        'test -> private address: 443 6443',
        `worker -> internet by IPv6: ${ALL}`,
        `worker -> internet: ${ALL}`,
      ]
        .concat(['worker -> forbidden range: ' + ALL])
        .sort(),
    );
  });

  test('engines in other served namespaces reach the same, and foreign engines nothing', () => {
    const lines = allowedConnections({ demo: { enabled: true }, operator: { namespaces: ['shop'] } }, [
      'shop',
    ]);
    expect(lines.filter((line) => line.startsWith('engine in shop ->'))).toEqual([
      'engine in shop -> api: 8081',
      'engine in shop -> demo-redis: 6379',
      `engine in shop -> dns: ${DNS}`,
      'engine in shop -> forbidden range: 443',
      'engine in shop -> internet by IPv6: 443',
      'engine in shop -> internet: 443',
    ]);
    expect(lines.filter((line) => /^engine of a stranger -> (api: .*8081|demo)/.test(line))).toEqual([]);
  });

  test('monitoring.prometheus and monitoring.tracing open egress only for the programs that need it', () => {
    const peer = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }];
    const observed = {
      ...MINIMAL_VALUES,
      monitoring: {
        prometheus: { url: 'http://prometheus.monitoring' },
        tracing: { endpoint: 'http://collector.monitoring' },
      },
      networkPolicy: { prometheus: peer, prometheusPort: 8083, collector: peer, collectorPort: 8084 },
    };
    const added = allowedConnections(observed).filter(
      (line) => !allowedConnections(MINIMAL_VALUES).includes(line),
    );
    const ports = added.map((line) => line.replace(/ (5432|6379|443|6443)/g, ''));
    expect(ports).toEqual([
      'api -> prometheus: 8084',
      'engine -> prometheus: 8084',
      'worker -> prometheus: 8083 8084',
    ]);
  });

  test('smtp.host opens its port for API and worker only', () => {
    const peer = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'strange' } } }];
    const smtp = { host: 'mail.strange', port: 8083, from: 'gwk@example.com' };
    const networkPolicy = { smtp: peer };
    const before = allowedConnections({ ...MINIMAL_VALUES, networkPolicy });
    const added = allowedConnections({ ...MINIMAL_VALUES, smtp, networkPolicy }).filter(
      (line) => !before.includes(line),
    );
    expect(added.map((line) => line.replace(/ (5432|6379|443|6443)/g, ''))).toEqual(
      ['api', 'worker'].flatMap((from) => [
        `${from} -> engine of a stranger: 8083`,
        `${from} -> stranger: 8083`,
      ]),
    );
  });

  test('the issuer of the sign-in opens its port for the API only', () => {
    const peer = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'strange' } } }];
    const oidc = { issuer: 'https://login.strange:8083/realm', clientId: 'gwk', domains: ['example.com'] };
    const networkPolicy = { oidc: peer };
    const before = allowedConnections({ ...MINIMAL_VALUES, networkPolicy });
    const api = { console: { oidc } };
    const added = allowedConnections({ ...MINIMAL_VALUES, api, networkPolicy }).filter(
      (line) => !before.includes(line),
    );
    expect(added.map((line) => line.replace(/ (5432|6379|443|6443)/g, ''))).toEqual([
      'api -> engine of a stranger: 8083',
      'api -> stranger: 8083',
    ]);
  });

  test('PROMETHEUS_URL in worker.extraEnv opens the same egress', () => {
    const peer = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }];
    const secret = { secretKeyRef: { name: 'prometheus', key: 'url' } };
    const networkPolicy = { prometheus: peer, prometheusPort: 8083 };
    const withEnv = (name: string) =>
      allowedConnections({
        ...MINIMAL_VALUES,
        networkPolicy,
        worker: { extraEnv: [{ name, valueFrom: secret }] },
      }).filter((line) => /^worker -> prometheus:.* 8083/.test(line));
    expect(withEnv('PROMETHEUS_URL')).toHaveLength(1);
    expect(withEnv('OTHER_URL')).toEqual([]);
  });

  test('networkPolicy.api limits access to the public port', () => {
    const lines = allowedConnections({
      ...MINIMAL_VALUES,
      networkPolicy: {
        api: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
      },
    });
    expect(lines.filter((line) => line.includes('-> api: 8080'))).toEqual([
      'prometheus -> api: 8080',
      'test -> api: 8080',
    ]);
  });

  test.each(['worker', 'engine'])(
    'the %s reaches exactly the public addresses that the address guard allows',
    (part) => {
      const objects = render(MINIMAL_VALUES, { namespace: NAMESPACE });
      const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
      const guard = new PublicAddresses();
      const from = endpoints(objects, [NAMESPACE])[part] as NetworkPod;
      const reached = ADDRESSES.filter((address) =>
        isAllowed(policies, { from, to: { address }, port: 443, protocol: 'TCP' }),
      );
      expect(reached).toEqual(ADDRESSES.filter((address) => guard.has(address)));
      expect(reached).toEqual(expect.arrayContaining(['93.184.216.34', '2606:2800:220:1::1']));
      expect(reached).not.toContain('169.254.169.254');
    },
  );

  test('networkPolicy.enabled=false removes all policies', () => {
    expect(
      render({ ...MINIMAL_VALUES, networkPolicy: { enabled: false } }).filter(
        ({ kind }) => kind === 'NetworkPolicy',
      ),
    ).toEqual([]);
  });
});

test('isAllowed: without a policy everything is allowed, and a rule without peers matches all', () => {
  const pod: NetworkPod = { namespace: 'a', labels: { app: 'x' } };
  const policy = (spec: object): KubeObject[] => [{ metadata: { name: 'p', namespace: 'a' }, spec }];
  const to = { from: { address: '1.2.3.4' }, to: pod, port: 80 };
  const select = { podSelector: { matchLabels: { app: 'x' } }, policyTypes: ['Ingress'] };
  expect(isAllowed([], to)).toBe(true);
  expect(isAllowed(policy({ ...select, podSelector: { matchLabels: { app: 'y' } } }), to)).toBe(true);
  expect(isAllowed(policy(select), to)).toBe(false);
  expect(isAllowed(policy({ ...select, ingress: [{}] }), to)).toBe(true);
  expect(isAllowed(policy({ ...select, ingress: [{ ports: [{ port: 81 }] }] }), to)).toBe(false);
  expect(isAllowed(policy({ ...select, ingress: [{ ports: [{ port: 1, endPort: 99 }] }] }), to)).toBe(true);
  const block = { cidr: '1.2.0.0/16', except: ['1.2.3.0/24'] };
  expect(isAllowed(policy({ ...select, ingress: [{ from: [{ ipBlock: block }] }] }), to)).toBe(false);
});

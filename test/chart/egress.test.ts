import { parse } from 'yaml';
import {
  MINIMAL_VALUES,
  listPodTemplates,
  readEnvironment,
  render,
  templateText,
} from '../support/chart/render.js';
import { isAllowed, type NetworkPod } from './network.js';
import { describeChart } from './suite.js';

/** Ways out of the cluster: proxies, private buckets and credentials of clouds. */
const NAMESPACE = 'messages';
const PROXY = '10.9.0.1';
const WITH_PROXY = {
  ...MINIMAL_VALUES,
  proxy: { existingSecret: 'way-out', caKey: 'ca', noProxy: ['minio.corp.example.com', '10.5.0.0/16'] },
  networkPolicy: { proxy: [{ ipBlock: { cidr: `${PROXY}/32` } }] },
};
const WITH_BUCKET = { ...MINIMAL_VALUES, media: { s3: { bucket: 'files' } } };

const PODS: Record<string, NetworkPod> = {
  engine: {
    namespace: NAMESPACE,
    labels: { 'app.kubernetes.io/managed-by': 'gwk-operator', 'app.kubernetes.io/component': 'engine' },
  },
};

/** Pods that reach an address at a port. */
function listReaching(values: object, address: string, port: number): string[] {
  const objects = render(values, { namespace: NAMESPACE });
  const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy');
  const own = [...listPodTemplates(objects).values()].map(({ metadata: { labels } }) => {
    const pod: NetworkPod = { namespace: NAMESPACE, labels };
    return [labels['app.kubernetes.io/component']!, pod] as const;
  });
  return [...new Map([...own, ...Object.entries(PODS)])]
    .filter(([, from]) => isAllowed(policies, { from, to: { address }, port, protocol: 'TCP' }))
    .map(([name]) => name)
    .sort();
}

const PRIVATE = ['10.0.0.5', '172.16.3.4', '192.168.1.1', '169.254.169.254', '100.64.0.1', 'fd00::5'];
const PORTS = [22, 53, 80, 443, 5432, 6379, 8080, 8081, 9000];

/** Private addresses and ports that engines reach. */
function listPrivateOfEngines(values: object): string[] {
  const policies = render(values, { namespace: NAMESPACE }).filter(({ kind }) => kind === 'NetworkPolicy');
  const from = PODS['engine']!;
  return PRIVATE.flatMap((address) =>
    PORTS.filter((port) => isAllowed(policies, { from, to: { address }, port })).map(
      (port) => `${address} ${port}`,
    ),
  );
}

function readProfiles(values: object): Record<string, { proxy?: object }> {
  const map = render(values).find(
    ({ kind, data }) => kind === 'ConfigMap' && JSON.stringify(data).includes('engine'),
  );
  return parse((map!['data'] as Record<string, string>)['profiles.yaml']!) as Record<
    string,
    { proxy?: object }
  >;
}

describeChart('engines', () => {
  const REDIS = '10.0.0.5';

  test('reach private addresses at the port of Redis only, while its addresses are in a Secret', () => {
    expect(listPrivateOfEngines(MINIMAL_VALUES)).toEqual(PRIVATE.map((address) => `${address} 6379`));
  });

  test('reach no private address but the named Redis', () => {
    const networkPolicy = { redis: [{ ipBlock: { cidr: `${REDIS}/32` } }] };
    expect(listPrivateOfEngines({ ...MINIMAL_VALUES, networkPolicy })).toEqual([`${REDIS} 6379`]);
  });

  test('reach no private address if the URL of Redis names a Service', () => {
    const redis = { url: 'redis://:p@redis.stores.svc:6379' };
    expect(listPrivateOfEngines({ ...MINIMAL_VALUES, redis })).toEqual([]);
    expect(listPrivateOfEngines({ demo: { enabled: true } })).toEqual([]);
  });
});

describeChart('a proxy', () => {
  test('takes e-mails and OpenID Connect too, unless their peers are named or they are reached without it', () => {
    const SERVER = '203.0.113.9';
    const values = {
      ...WITH_PROXY,
      smtp: { host: 'mail.example.org', from: 'gwk@example.org' },
      api: {
        console: {
          oidc: { issuer: 'https://login.example.org:8443', clientId: 'gwk', domains: ['example.org'] },
        },
      },
    };
    for (const port of [587, 8443]) expect(listReaching(values, SERVER, port)).toEqual([]);
    const peers = [{ ipBlock: { cidr: `${SERVER}/32` } }];
    const networkPolicy = { ...WITH_PROXY.networkPolicy, smtp: peers, oidc: peers };
    expect(listReaching({ ...values, networkPolicy }, SERVER, 587)).toEqual(['api', 'worker']);
    expect(listReaching({ ...values, networkPolicy }, SERVER, 8443)).toEqual(['api']);
    const listed = { ...values, proxy: { ...WITH_PROXY.proxy, noProxy: ['*.example.org'] } };
    expect(listReaching(listed, SERVER, 587)).toEqual(['api', 'worker']);
    expect(listReaching(listed, SERVER, 8443)).toEqual(['api']);
    const named = { ...values, smtp: { host: 'mailrelay', from: 'gwk@example.org' } };
    expect(listReaching(named, SERVER, 587)).toEqual(['api', 'worker']);
    const others = { ...values, proxy: { ...WITH_PROXY.proxy, noProxy: ['mple.org', '10.0.0.0/8'] } };
    expect(listReaching(others, SERVER, 587)).toEqual([]);
    const direct = { ...values, proxy: {}, networkPolicy: {} };
    expect(listReaching(direct, SERVER, 587)).toEqual(expect.arrayContaining(['api', 'worker']));
  });

  test('is the only way out for API, workers and engines', () => {
    expect(listReaching(WITH_PROXY, PROXY, 3128)).toEqual(['api', 'engine', 'worker']);
    const values = { ...WITH_PROXY, media: WITH_BUCKET.media };
    expect(listReaching(values, '93.184.216.34', 80)).toEqual([]);
    // Those of the Kubernetes API, whose address the chart cannot know.
    expect(listReaching(values, '93.184.216.34', 443)).toEqual(['api', 'operator', 'secrets', 'test']);
  });

  test('is reached with the address from its Secret, in no pod as text', () => {
    for (const program of ['api', 'worker']) {
      const { spec } = listPodTemplates(render(WITH_PROXY)).get(`Deployment/gwk-${program}`)!;
      const prefix = `GWK_${program.toUpperCase()}`;
      expect(readEnvironment(spec.containers[0]!)).toMatchObject({
        [`${prefix}_PROXY_URL_FILE`]: '/var/run/gwk/secrets/proxy-url',
        [`${prefix}_PROXY_CA_FILE`]: '/var/run/gwk/secrets/proxy-ca.crt',
        [`${prefix}_NO_PROXY`]: 'minio.corp.example.com,10.5.0.0/16',
      });
      expect(JSON.stringify(spec.volumes)).toContain(
        JSON.stringify({
          secret: {
            name: 'way-out',
            items: [
              { key: 'proxy-url', path: 'proxy-url' },
              { key: 'ca', path: 'proxy-ca.crt' },
            ],
          },
        }),
      );
    }
  });

  test('of a profile replaces that of the chart, and null removes it', () => {
    const second = { secretName: 'second', urlKey: 'url' };
    const profiles = { direct: { proxy: null }, second: { proxy: second } };
    const values = { ...WITH_PROXY, engine: { profiles } };
    expect(readProfiles(values)).toMatchObject({
      default: { proxy: { secretName: 'way-out', urlKey: 'proxy-url', caKey: 'ca' } },
      second: { proxy: second },
    });
    expect(readProfiles(values)['direct']).not.toHaveProperty('proxy');
    // Engines without a proxy need the internet.
    expect(listReaching(values, '93.184.216.34', 443)).toContain('engine');
  });

  test.each([
    ['of the chart', { proxy: { existingSecret: 'way-out' } }],
    ['of a profile', { engine: { profiles: { default: { proxy: { secretName: 'way-out' } } } } }],
  ])('%s needs peers', (_, values) => {
    expect(() => templateText({ ...MINIMAL_VALUES, ...values })).toThrow(/networkPolicy\.proxy/);
    expect(() =>
      templateText({ ...MINIMAL_VALUES, ...values, networkPolicy: { enabled: false } }),
    ).not.toThrow();
  });
});

describeChart('HTTPS_PROXY', () => {
  const env = [{ name: 'HTTPS_PROXY', value: `http://${PROXY}:3128` }];
  test.each([
    ['api.extraEnv', 'proxy.existingSecret', { api: { extraEnv: env } }],
    [
      'worker.extraEnv',
      'proxy.existingSecret',
      { worker: { extraEnv: [{ name: 'TZ' }, { name: 'HTTPS_PROXY_FILE', value: '/proxy' }] } },
    ],
    [
      'engine.profiles.big.env',
      'engine.profiles.big.proxy',
      { engine: { profiles: { big: { env }, small: {} } } },
    ],
  ])('in %s fails and names %s', (path, instead, values) => {
    expect(() => templateText({ ...MINIMAL_VALUES, ...values })).toThrow(
      new RegExp(`Remove HTTPS_PROXY(_FILE)? from ${path}, and set ${instead} and networkPolicy.proxy`),
    );
  });

  test('in the pods that do not read it is allowed', () => {
    expect(() => templateText({ ...MINIMAL_VALUES, operator: { extraEnv: env } })).not.toThrow();
  });
});

describeChart('a bucket', () => {
  test('with private endpoints is reached there, and the API needs no internet', () => {
    const networkPolicy = { bucket: [{ ipBlock: { cidr: '10.5.0.0/16' } }], bucketPorts: [443, 9000] };
    for (const port of [443, 9000])
      expect(listReaching({ ...WITH_BUCKET, networkPolicy }, '10.5.1.1', port)).toEqual(
        expect.arrayContaining(['api', 'worker']),
      );
    expect(listReaching({ ...WITH_BUCKET, networkPolicy }, '10.5.1.1', 9000)).toEqual(['api', 'worker']);
    expect(listReaching(WITH_BUCKET, '10.5.1.1', 9000)).toEqual([]);
  });

  test.each([
    ['eks-pod-identity', '169.254.170.23', 80],
    ['eks-pod-identity', 'fd00:ec2::23', 80],
    ['gke-metadata', '169.254.169.254', 80],
    ['gke-metadata', '169.254.169.252', 987],
    ['gke-metadata', '169.254.169.252', 988],
  ])('reads credentials of %s at %s:%d', (cloudCredentials, address, port) => {
    expect(listReaching({ ...WITH_BUCKET, networkPolicy: { cloudCredentials } }, address, port)).toEqual([
      'api',
      'worker',
    ]);
    expect(listReaching(WITH_BUCKET, address, port)).toEqual([]);
    const other = address.endsWith('23') ? 'gke-metadata' : 'eks-pod-identity';
    const values = { ...WITH_BUCKET, networkPolicy: { cloudCredentials: other } };
    expect(listReaching(values, address, port)).toEqual([]);
  });
});

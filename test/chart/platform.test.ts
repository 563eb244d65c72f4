import { spawnSync } from 'node:child_process';
import { parse, parseDocument } from 'yaml';
import {
  CHART,
  readEnvironment,
  find,
  helm,
  MINIMAL_VALUES,
  listPodTemplates,
  READ_BY_PROMETHEUS,
  render,
  templateText,
  withValues,
} from '../support/chart/render.js';
import { describeChart } from './suite.js';
import { INSTALLATIONS } from './values.js';

const readProfiles = (values: object) => {
  const { data } = find(render(values), 'ConfigMap', 'gwk-operator-profiles') as unknown as {
    data: Record<string, string>;
  };
  return parse(data['profiles.yaml']!) as Record<string, { image: string; env?: object[] }>;
};

const LABELLED = {
  ...MINIMAL_VALUES,
  commonLabels: { 'app.kubernetes.io/part-of': 'shop', owner: 'platform' },
  api: { podLabels: { owner: 'messages' } },
};

/** Common requirements of platform teams. */
describeChart('requirements of platform teams', () => {
  test.each([...Object.entries(INSTALLATIONS), ['labels', LABELLED] as const])(
    '%s: YAML keys are unique, as strict readers (Flux, kustomize) require',
    (_, values) => {
      const documents = templateText(values).split(/^---$/m);
      const faults = documents.flatMap((one) => parseDocument(one, { uniqueKeys: true }).errors);
      expect(faults.map(({ message }) => message)).toEqual([]);
    },
  );

  test('commonLabels reach every object but cannot replace selector labels', () => {
    const [api] = [...listPodTemplates(render(LABELLED))].filter(([name]) => name === 'Deployment/gwk-api');
    expect(api![1].metadata.labels).toMatchObject({
      'app.kubernetes.io/part-of': 'shop',
      owner: 'messages',
      'app.kubernetes.io/component': 'api',
    });
    for (const values of [
      { commonLabels: { 'app.kubernetes.io/component': 'x' } },
      { api: { podLabels: { 'app.kubernetes.io/name': 'x' } } },
      { jobs: { podLabels: { 'app.kubernetes.io/instance': 'x' } } },
    ])
      expect(() => templateText({ ...MINIMAL_VALUES, ...values })).toThrow(/app.kubernetes.io/);
  });

  test('security contexts take fields from the values, and leave out those that are null', () => {
    const own = { podSecurityContext: { fsGroup: null, runAsNonRoot: false } };
    const container = { containerSecurityContext: { readOnlyRootFilesystem: false } };
    const pods = listPodTemplates(
      render({
        ...MINIMAL_VALUES,
        worker: { ...own, ...container, decoder: { containerSecurityContext: { runAsUser: 7 } } },
      }),
    );
    const { spec } = pods.get('Deployment/gwk-worker')!;
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: false, runAsUser: 65_532 });
    expect(spec.securityContext).not.toHaveProperty('fsGroup');
    const contexts = [...spec.initContainers!, ...spec.containers].map((one) => [
      one.name,
      one.securityContext,
    ]);
    expect(Object.fromEntries(contexts)).toMatchObject({
      'wait-for-migrations': { readOnlyRootFilesystem: false },
      worker: { readOnlyRootFilesystem: false, capabilities: { drop: ['ALL'] } },
      decoder: { readOnlyRootFilesystem: true, runAsUser: 7 },
    });
  });

  test('userIds=auto assigns no ids where OpenShift is served', () => {
    const userOf = (...more: string[]): unknown => {
      const { output } = withValues(MINIMAL_VALUES, (file) =>
        helm('template', 'gwk', CHART, '--values', file, '--show-only', 'templates/api.yaml', ...more),
      );
      const [deployment] = output.split(/^---$/m).filter((one) => one.includes('kind: Deployment'));
      return (parse(deployment!) as { spec: { template: { spec: { securityContext: object } } } }).spec
        .template.spec.securityContext;
    };
    expect(userOf()).toMatchObject({ runAsUser: 65_532, fsGroup: 65_532 });
    expect(userOf('--api-versions', 'security.openshift.io/v1')).toEqual({
      runAsNonRoot: true,
      fsGroupChangePolicy: 'OnRootMismatch',
      seccompProfile: { type: 'RuntimeDefault' },
    });
  });

  test('an upgrade of the chart or of labels does not restart the servers of a trial', () => {
    const templates = (more: object) =>
      [...listPodTemplates(render({ demo: { enabled: true }, ...more }))].filter(([name]) =>
        name.startsWith('StatefulSet/'),
      );
    const before = templates({});
    expect(before).toHaveLength(2);
    expect(templates({ commonLabels: { team: 'a' }, image: { tag: '9.9.9' } })).toEqual(before);
    expect(JSON.stringify(before)).not.toMatch(/helm.sh|app.kubernetes.io\/version/);
  });

  test('labels and annotations of Jobs reach the pod of the Helm test', () => {
    const jobs = { podLabels: { mesh: 'off' }, podAnnotations: { 'linkerd.io/inject': 'disabled' } };
    const pod = find(render({ ...MINIMAL_VALUES, jobs }), 'Pod', 'helm-test-gwk');
    expect(pod.metadata).toMatchObject({
      labels: jobs.podLabels,
      annotations: { ...jobs.podAnnotations, 'helm.sh/hook': 'test' },
    });
  });

  test('image.digests pin each image, and the tag remains the version', () => {
    const digest = (of: string) => `sha256:${of.repeat(64)}`;
    const digests = {
      ...{ api: digest('a'), worker: digest('b'), decoder: digest('e'), operator: digest('c') },
      engine: digest('d'),
    };
    const values = { ...MINIMAL_VALUES, image: { registry: 'r.example.com/gwk', digests } };
    const images = [...listPodTemplates(render(values)).values()].flatMap(({ spec }) =>
      [...(spec.initContainers ?? []), ...spec.containers].map(({ image }) => image),
    );
    expect([...new Set(images)].sort()).toEqual([
      `r.example.com/gwk/gwk-api:0.1.0@${digests.api}`,
      `r.example.com/gwk/gwk-decoder:0.1.0@${digests.decoder}`,
      `r.example.com/gwk/gwk-operator:0.1.0@${digests.operator}`,
      `r.example.com/gwk/gwk-worker:0.1.0@${digests.worker}`,
    ]);
    expect(readProfiles(values)['default']!.image).toBe(
      `r.example.com/gwk/gwk-engine:0.1.0@${digests.engine}`,
    );
  });

  test.each([
    ['a digest in the tag', { image: { tag: '0.1.0@sha256:abc' } }, /tag/],
    ['a truncated digest', { image: { digests: { api: 'sha256:abc' } } }, /digests/],
    ['a digest of an unknown image', { image: { digests: { web: '' } } }, /web/],
    ['an invalid fullnameOverride', { fullnameOverride: 'My_Gateway' }, /fullnameOverride/],
    ['an invalid nameOverride', { nameOverride: 'a b' }, /nameOverride/],
    [
      'a Postgres port that the policy does not open',
      { postgres: { url: 'postgresql://u:p@h.example.com:6432/gwk' } },
      /postgres.url has the port 6432, and networkPolicy.postgresPort opens 5432/,
    ],
    [
      'a Redis port that the policy does not open',
      { redis: { url: 'rediss://:p@h.example.com:6380' } },
      /redis.url has the port 6380/,
    ],
    [
      'the default port while the policy opens another one',
      { redis: { url: 'redis://h' }, networkPolicy: { redisPort: 6380 } },
      /redis.url has the port 6379/,
    ],
    [
      'a Redis port of engines that the policy does not open',
      { redis: { existingSecret: 'd', engineUrl: 'redis://h:6380' } },
      /redis.engineUrl has the port 6380/,
    ],
    [
      'PodMonitors without access to metrics',
      { monitoring: { podMonitors: { enabled: true } } },
      /monitoring.podMonitors needs networkPolicy.metrics/,
    ],
    [
      'ServiceMonitors without access to metrics',
      { monitoring: { serviceMonitors: { enabled: true } } },
      /monitoring.serviceMonitors needs networkPolicy.metrics/,
    ],
    [
      'two monitors for each pod',
      {
        networkPolicy: READ_BY_PROMETHEUS,
        monitoring: { podMonitors: { enabled: true }, serviceMonitors: { enabled: true } },
      },
      /Set one of monitoring.podMonitors and monitoring.serviceMonitors/,
    ],
    [
      'ServiceMonitors for engines in unknown namespaces',
      {
        networkPolicy: READ_BY_PROMETHEUS,
        operator: { namespaces: ['*'] },
        monitoring: { serviceMonitors: { enabled: true } },
      },
      /list them in operator.namespaces, or use monitoring.podMonitors/,
    ],
    [
      'alerts without access to metrics',
      { monitoring: { rules: { enabled: true } } },
      /monitoring.rules needs networkPolicy.metrics/,
    ],
    [
      'prometheus.url without instanceLabel',
      { monitoring: { instanceLabel: false, prometheus: { url: 'http://prometheus:9090' } } },
      /monitoring.prometheus.url needs monitoring.instanceLabel/,
    ],
    [
      'PROMETHEUS_URL without instanceLabel',
      {
        monitoring: { instanceLabel: false },
        worker: {
          extraEnv: [{ name: 'PROMETHEUS_URL', valueFrom: { secretKeyRef: { name: 'p', key: 'u' } } }],
        },
      },
      /needs monitoring.instanceLabel/,
    ],
  ])('%s fails with a message', (_, values, message) => {
    expect(() => templateText({ ...MINIMAL_VALUES, ...values })).toThrow(message);
  });

  test.each([
    ['no NetworkPolicies', { networkPolicy: { enabled: false } }],
    ['the port opened', { networkPolicy: { postgresPort: 6432 } }],
    ['the URL in a Secret', { postgres: { existingSecret: 'd', url: '' } }],
  ])('another Postgres port works with %s', (_, values) => {
    const postgres = { url: 'postgresql://u:p%40@h.example.com:6432/gwk?sslmode=verify-full' };
    expect(() => templateText({ ...MINIMAL_VALUES, postgres, ...values })).not.toThrow();
  });

  test.each([
    ['networkPolicy.metrics', { networkPolicy: { metrics: [{ podSelector: {} }] } }],
    ['no NetworkPolicies', { networkPolicy: { enabled: false } }],
  ])('PodMonitors and alerts work with %s', (_, values) => {
    const monitoring = { podMonitors: { enabled: true }, rules: { enabled: true } };
    expect(() => templateText({ ...MINIMAL_VALUES, ...values, monitoring })).not.toThrow();
  });

  test('placement applies to all pods, including Jobs, the Helm test and the demo', () => {
    const placement = {
      nodeSelector: { pool: 'messages' },
      tolerations: [{ key: 'messages', operator: 'Exists' }],
      priorityClassName: 'high',
    };
    const pods = listPodTemplates(
      render({ demo: { enabled: true }, placement, worker: { nodeSelector: { a: 'b' } } }),
    );
    expect([...pods.keys()].filter((name) => name.startsWith('Job/'))).toHaveLength(2);
    for (const [name, { spec }] of pods) {
      const nodeSelector = name.endsWith('-worker') ? { a: 'b' } : placement.nodeSelector;
      expect([name, spec]).toEqual([name, expect.objectContaining({ ...placement, nodeSelector })]);
    }
  });

  test('jobs.podLabels and podAnnotations reach the pods of Jobs', () => {
    const podLabels = { 'sidecar.istio.io/inject': 'false' };
    const podAnnotations = { 'linkerd.io/inject': 'disabled' };
    const jobs = [
      ...listPodTemplates(render({ ...MINIMAL_VALUES, jobs: { podLabels, podAnnotations } })),
    ].filter(([name]) => name.startsWith('Job/'));
    expect(jobs).toHaveLength(2);
    for (const [, { metadata }] of jobs) {
      expect(metadata.labels).toMatchObject(podLabels);
      expect(metadata.annotations).toEqual(podAnnotations);
    }
  });

  test('logs of failed Jobs and containers remain visible', () => {
    const pods = [...listPodTemplates(render(MINIMAL_VALUES))].filter(([name]) => !name.startsWith('Pod/'));
    for (const [name, { spec }] of pods) {
      // OnFailure deletes the pod and its log when the Job fails.
      if (name.startsWith('Job/')) expect([name, spec['restartPolicy']]).toEqual([name, 'Never']);
      for (const container of [...(spec.initContainers ?? []), ...spec.containers])
        expect([name, container['terminationMessagePolicy']]).toEqual([name, 'FallbackToLogsOnError']);
    }
  });

  test('the pod of helm test cannot have the name of an engine pod', () => {
    const named = render(MINIMAL_VALUES).filter(({ kind }) => kind === 'Pod');
    expect(named.map(({ metadata }) => /^gwk-/.test(metadata.name))).toEqual([false]);
  });

  test('listenAddress applies to all programs, including engines', () => {
    const values = { ...MINIMAL_VALUES, listenAddress: '::' };
    const pods = listPodTemplates(render(values));
    const hosts = ['api', 'worker', 'operator'].flatMap((program) =>
      Object.entries(readEnvironment(pods.get(`Deployment/gwk-${program}`)!.spec.containers[0]!)).filter(
        ([name]) => name.endsWith('_HOST'),
      ),
    );
    expect(Object.fromEntries(hosts)).toEqual({
      GWK_API_HOST: '::',
      GWK_API_INTERNAL_HOST: '::',
      GWK_WORKER_HOST: '::',
      GWK_OPERATOR_HOST: '::',
    });
    expect(readProfiles(values)['default']!.env).toEqual([{ name: 'GWK_ENGINE_HOST', value: '::' }]);
    expect(readProfiles(MINIMAL_VALUES)['default']!.env).toBeUndefined();
  });

  test('networkPolicy.dnsPorts opens the DNS ports of OpenShift', () => {
    const objects = render({ ...MINIMAL_VALUES, networkPolicy: { dnsPorts: [53, 5353] } });
    for (const { metadata, ...policy } of objects.filter(({ kind }) => kind === 'NetworkPolicy')) {
      const { egress } = policy['spec'] as { egress: { ports: { port: number; protocol: string }[] }[] };
      expect([metadata.name, egress[0]!.ports.map(({ port, protocol }) => `${port}/${protocol}`)]).toEqual([
        metadata.name,
        ['53/UDP', '53/TCP', '5353/UDP', '5353/TCP'],
      ]);
    }
  });
});

describeChart('NOTES.txt', () => {
  const notes = (values: object) =>
    withValues({ ...MINIMAL_VALUES, ...values }, (file) =>
      helm('install', 'gwk', CHART, '--dry-run=client', '--namespace', 'messages', '--values', file),
    ).text;

  test.each([
    ['the release namespace', {}, 'messages', null],
    [
      'the release namespace among others',
      { operator: { namespaces: ['shop', 'messages'] } },
      'messages',
      null,
    ],
    ['all namespaces', { operator: { namespaces: ['*'] } }, 'messages', null],
    [
      'other namespaces only',
      { operator: { namespaces: ['shop', 'support'] } },
      'shop',
      'kubectl -n messages exec deploy/gwk-api -- gwk account allow-namespace main shop',
    ],
  ])('serving %s, creates the first Instance in a served namespace', (_, values, namespace, allow) => {
    const text = notes(values);
    for (const command of ['apply -f -', 'wait --for=condition=Ready gwi/first', 'get gwi'])
      expect(text).toContain(`kubectl -n ${namespace} ${command}`);
    // Runs the text as a shell would after pasting it.
    const applied = /^ *kubectl \S+ \S+ apply[^]*?EOF\n[^]*?EOF$/m.exec(text)![0];
    const pasted = spawnSync('bash', ['-c', `kubectl() { cat; }\n${applied}\necho --- after`], {
      encoding: 'utf8',
    });
    expect(pasted.stderr).toBe('');
    const [manifest = '', after] = pasted.stdout.split('--- ');
    expect(parse(manifest)).toMatchObject({ kind: 'Instance', metadata: { name: 'first' } });
    expect(after).toBe('after\n');
    if (allow === null) expect(text).not.toMatch(/allow-namespace main (messages|shop)/);
    else expect(text).toContain(allow);
  });
});

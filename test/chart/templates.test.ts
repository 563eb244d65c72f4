import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startDecoderServer } from '@gwk/decoder/server';
import { apiSettings } from '@gwk/api/config/api';
import { loadConfig, type Settings } from '@gwk/core/config/load';
import { operatorSettings } from '@gwk/core/config/operator';
import { workerSettings } from '@gwk/api/config/worker';
import { createLogger } from '@gwk/core/process/log';
import { parse } from 'yaml';
import {
  CHART,
  readEnvironment,
  find,
  helm,
  MINIMAL_VALUES,
  listPodTemplates,
  render,
  templateText,
  withValues,
  type Container,
  type PodTemplate,
} from '../support/chart/render.js';
import { describeChart } from './suite.js';
import { INSTALLATIONS } from './values.js';
import { temporaryFolder } from '../support/operator/folder.js';
import { ROOT } from '../support/program.js';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const PROGRAMS: Record<string, Settings> = {
  api: apiSettings,
  worker: workerSettings,
  operator: operatorSettings,
};

function deploymentOf(values: object, program: string): { pod: PodTemplate; container: Container } {
  const pod = listPodTemplates(render(values)).get(`Deployment/gwk-${program}`)!;
  return { pod, container: pod.spec.containers[0]! };
}

const SECRETS = '/var/run/gwk/secrets/';

describeChart('the chart', () => {
  test.each(Object.keys(INSTALLATIONS))('%s: passes helm lint --strict', (way) => {
    const { status, text } = withValues(INSTALLATIONS[way]!, (file) =>
      helm('lint', '--strict', CHART, '--values', file),
    );
    expect([status, text]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
  });

  test.each(Object.keys(INSTALLATIONS))('%s: renders the same bytes twice', (way) => {
    expect(templateText(INSTALLATIONS[way]!)).toBe(templateText(INSTALLATIONS[way]!));
  });

  test.each([
    ['no Postgres', { redis: MINIMAL_VALUES.redis }, /Set postgres.existingSecret/],
    ['no Redis', { postgres: MINIMAL_VALUES.postgres }, /Set redis.existingSecret/],
    ['an unknown value', { ...MINIMAL_VALUES, replicas: 3 }, /additional properties 'replicas'/],
    ['an unknown setting', { ...MINIMAL_VALUES, api: { settings: { GWK_API_PROT: 1 } } }, /GWK_API_PROT/],
    [
      'a setting that has a chart value',
      { ...MINIMAL_VALUES, api: { settings: { GWK_API_BASE_URL: 'x' } } },
      /GWK_API_BASE_URL/,
    ],
    [
      'a GWK_ setting in extraEnv',
      { ...MINIMAL_VALUES, worker: { extraEnv: [{ name: 'GWK_LOG_LEVEL' }] } },
      /extraEnv/,
    ],
    ['text instead of a number', { ...MINIMAL_VALUES, api: { replicas: 'two' } }, /got string, want integer/],
    [
      'credentials in redis.engineUrl',
      { ...MINIMAL_VALUES, redis: { ...MINIMAL_VALUES.redis, engineUrl: 'redis://u:p@h' } },
      /engineUrl/,
    ],
    [
      'no default profile',
      { ...MINIMAL_VALUES, engine: { profiles: { default: null, big: {} } } },
      /default/,
    ],
    [
      'an unknown field of a profile',
      { ...MINIMAL_VALUES, engine: { profiles: { default: { cpu: 1 } } } },
      /additional properties 'cpu'/,
    ],
    [
      '* among names of namespaces',
      { ...MINIMAL_VALUES, operator: { namespaces: ['*', 'shop'] } },
      /names or to '\*'/,
    ],
    ['an Ingress without a host', { ...MINIMAL_VALUES, ingress: { enabled: true } }, /needs ingress.hosts/],
    ['a route without a Gateway', { ...MINIMAL_VALUES, route: { enabled: true } }, /needs route.parentRefs/],
    [
      'two sources of the certificate',
      {
        ...MINIMAL_VALUES,
        internal: { tls: { existingSecret: 'a', certManager: { enabled: true, issuerRef: { name: 'b' } } } },
      },
      /Set one of/,
    ],
    [
      'two certificate authorities',
      {
        ...MINIMAL_VALUES,
        postgres: { ...MINIMAL_VALUES.postgres, tls: { caSecret: 'a', caConfigMap: 'b' } },
      },
      /Set one of/,
    ],
    [
      'a provider without domains',
      {
        ...MINIMAL_VALUES,
        api: { console: { oidc: { issuer: 'https://login.example.com', clientId: 'gwk' } } },
      },
      /oidc.domains/,
    ],
    [
      'two authorities of webhook receivers',
      { ...MINIMAL_VALUES, webhooks: { tls: { hosts: ['a.example'], caSecret: 'a', caConfigMap: 'b' } } },
      /one of webhooks.tls.caSecret/,
    ],
    ['a CA without hosts', { ...MINIMAL_VALUES, webhooks: { tls: { caConfigMap: 'b' } } }, /each other/],
    ['an SMTP server without a sender', { ...MINIMAL_VALUES, smtp: { host: 'mail' } }, /needs smtp.from/],
    [
      'an SMTP user without a password',
      { ...MINIMAL_VALUES, smtp: { host: 'mail', from: 'gwk@example.com', user: 'gwk' } },
      /needs smtp.existingSecret/,
    ],
  ])('%s fails with a message', (_case, values, message) => {
    expect(() => templateText(values)).toThrow(message);
  });

  test.each(Object.keys(INSTALLATIONS))('%s: every pod has the strictest security context', (way) => {
    for (const [name, { spec }] of listPodTemplates(render(INSTALLATIONS[way]!))) {
      const context = {
        name,
        root: spec.securityContext['runAsNonRoot'],
        seccomp: spec.securityContext['seccompProfile'],
        links: spec.enableServiceLinks,
      };
      expect(context).toEqual({ name, root: true, seccomp: { type: 'RuntimeDefault' }, links: false });
      for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
        const { securityContext, resources } = container;
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
          ...(container.name === 'decoder' && { runAsUser: 65_533, runAsGroup: 65_533 }),
        });
        expect([name, resources.limits['memory']]).toEqual([name, expect.any(String)]);
      }
      // Only pods that call the Kubernetes API have a token.
      const needsToken = /^(Deployment\/.*-(api|operator)|Job\/.*-secrets-|Pod\/helm-test-)/.test(name);
      expect([name, spec.automountServiceAccountToken]).toEqual([name, needsToken]);
    }
  });

  test.each(Object.keys(INSTALLATIONS))(
    '%s: every object has a name prefix, labels and a namespace',
    (way) => {
      for (const { kind = '', metadata } of render(INSTALLATIONS[way]!)) {
        if (metadata.name.endsWith('-extra')) continue;
        const labels = metadata['labels'] as Record<string, string>;
        expect(labels['app.kubernetes.io/managed-by']).toBe('Helm');
        const clusterWide = /^(Cluster|CustomResourceDefinition|ValidatingAdmissionPolicy)/.test(kind);
        expect([kind, metadata.namespace]).toEqual([kind, clusterWide ? undefined : expect.any(String)]);
      }
    },
  );

  test.each(
    Object.keys(INSTALLATIONS).flatMap((way) => Object.keys(PROGRAMS).map((program) => [way, program])),
  )('%s: gwk %s accepts all its settings', (way, program) => {
    const pods = listPodTemplates(render(INSTALLATIONS[way]!));
    const [, pod] = [...pods].find(
      ([name]) => name.endsWith(`-${program}`) && name.startsWith('Deployment/'),
    )!;
    const given = readEnvironment(pod.spec.containers[0]!);
    // The files exist only in the cluster, so sample values replace them.
    const environment: Record<string, string> = {};
    for (const [name, value] of Object.entries(given)) {
      if (name.endsWith('_FILE')) environment[name.slice(0, -'_FILE'.length)] = SAMPLES[name] ?? 'text';
      else environment[name] = value;
    }
    expect(() => loadConfig(PROGRAMS[program]!, environment)).not.toThrow();
  });

  test.each(Object.keys(INSTALLATIONS))('%s: mounts every file that a setting names', (way) => {
    for (const [name, { spec }] of listPodTemplates(render(INSTALLATIONS[way]!))) {
      const mounted = (spec.volumes ?? []).flatMap(pathsOf);
      const wanted = [...(spec.initContainers ?? []), ...spec.containers]
        .flatMap((container) => Object.entries(readEnvironment(container)))
        .filter(([variable, path]) => variable.endsWith('_FILE') && path.startsWith(SECRETS))
        .map(([, path]) => path.slice(SECRETS.length));
      expect([name, wanted.filter((path) => !mounted.includes(path))]).toEqual([name, []]);
    }
  });

  test('the demo runs API and worker on the node of its volume', () => {
    const { pod } = deploymentOf({ demo: { enabled: true } }, 'worker');
    expect(JSON.stringify(pod.spec.affinity)).toContain('demo-postgres');
    expect(
      find(render({ demo: { enabled: true } }), 'PersistentVolumeClaim', 'gwk-media')['spec'],
    ).toMatchObject({
      accessModes: ['ReadWriteOnce'],
    });
  });

  test('API and worker wait for the migrations, and a stopping API keeps serving first', () => {
    for (const program of ['api', 'worker']) {
      const { pod } = deploymentOf(MINIMAL_VALUES, program);
      expect(pod.spec.initContainers![0]!.args).toEqual(['migrate', '--wait', '--timeout', '600']);
    }
    const { pod, container } = deploymentOf(MINIMAL_VALUES, 'api');
    expect(container['lifecycle']).toEqual({ preStop: { sleep: { seconds: 5 } } });
    expect(pod.spec['terminationGracePeriodSeconds']).toBeGreaterThan(5 + 25);
  });

  test('autoscaling omits replicas, so that upgrades do not reset them', () => {
    const scaled = render({ ...MINIMAL_VALUES, api: { autoscaling: { enabled: true } } });
    expect(find(scaled, 'Deployment', 'gwk-api')['spec']).not.toHaveProperty('replicas');
    expect(find(scaled, 'PodDisruptionBudget', 'gwk-api')).toBeDefined();
  });

  test('a single replica has no PodDisruptionBudget, which would block node drains', () => {
    const single = render({ ...MINIMAL_VALUES, worker: { replicas: 1 } });
    expect(() => find(single, 'PodDisruptionBudget', 'gwk-worker')).toThrow(/there is no/);
  });

  test.each([
    ['api.baseUrl', { api: { baseUrl: 'https://api.example.com/' } }, 'https://api.example.com'],
    ['the Ingress, with TLS', INSTALLATIONS['Ingress and autoscaling'], 'https://api.example.com'],
    [
      'the Ingress, without TLS',
      { ingress: { enabled: true, hosts: ['a.example.com'] } },
      'http://a.example.com',
    ],
    ['the route', INSTALLATIONS['Gateway API route'], 'https://api.example.com'],
    ['the Service otherwise', {}, 'http://gwk-api.messages.svc'],
  ])('the public base URL comes from %s', (_case, values, url) => {
    const { container } = deploymentOf({ ...MINIMAL_VALUES, ...values }, 'api');
    expect(readEnvironment(container)).toMatchObject({ GWK_API_BASE_URL: url, GWK_MEDIA_URL: url });
  });

  test('changed profiles restart the operator', () => {
    const checksum = (values: object) =>
      deploymentOf(values, 'operator').pod.metadata.annotations!['checksum/profiles'];
    expect(checksum(MINIMAL_VALUES)).toBe(checksum({ ...MINIMAL_VALUES, logLevel: 'debug' }));
    expect(checksum(MINIMAL_VALUES)).not.toBe(
      checksum({
        ...MINIMAL_VALUES,
        engine: { profiles: { default: { env: [{ name: 'A', value: 'b' }] } } },
      }),
    );
  });

  test('profiles contain the image of the chart and their own fields', () => {
    const { data } = find(
      render(INSTALLATIONS['everything at once']!),
      'ConfigMap',
      'messages-operator-profiles',
    ) as unknown as { data: Record<string, string> };
    expect(parse(data['profiles.yaml']!)).toEqual({
      default: expect.objectContaining({
        image: `registry.example.com/gwk/gwk-engine:1.2.3@sha256:${'e'.repeat(64)}`,
        imagePullPolicy: 'Always',
        imagePullSecrets: [{ name: 'registry' }],
      }) as object,
      large: expect.objectContaining({
        resources: { limits: { memory: '1Gi' } },
        nodeSelector: { big: 'yes' },
      }) as object,
    });
  });

  test('the name of the migration Job contains the newest migration and changes with the version', () => {
    const newest = readdirSync(join(ROOT, 'api/prisma/migrations'))
      .filter((name) => /^\d/.test(name))
      .sort()
      .at(-1)!;
    const nameOf = (values: object) =>
      render(values).find(({ kind, metadata }) => kind === 'Job' && metadata.name.includes('-migrate-'))!
        .metadata.name;
    expect(nameOf(MINIMAL_VALUES)).toContain(`gwk-migrate-${newest.split('_')[0]}-`);
    expect(nameOf(MINIMAL_VALUES)).toBe(nameOf({ ...MINIMAL_VALUES, api: { replicas: 5 } }));
    expect(nameOf(MINIMAL_VALUES)).not.toBe(nameOf({ ...MINIMAL_VALUES, image: { tag: '9.9.9' } }));
    expect(nameOf({ ...MINIMAL_VALUES, fullnameOverride: 'x'.repeat(60) }).length).toBeLessThanOrEqual(63);
  });

  test('the CRD equals crds/', () => {
    const rendered = find(render(MINIMAL_VALUES), 'CustomResourceDefinition', 'instances.gwk.dev');
    expect(rendered['spec']).toEqual((parse(read('crds/gwk.dev_instances.yaml')) as { spec: object }).spec);
  });

  test('the notes contain the next step', () => {
    const text = withValues({ demo: { enabled: true } }, (file) =>
      helm('install', 'gwk', CHART, '--dry-run=client', '--namespace', 'messages', '--values', file),
    ).text;
    expect(text).toContain('kubectl -n messages exec deploy/gwk-api -- gwk account create main');
    expect(text).toContain('DEMO');
  });
});

const SAMPLES: Record<string, string> = {
  DATABASE_URL_FILE: 'postgresql://a:b@c/d',
  REDIS_URL_FILE: 'redis://a',
  GWK_API_PROXY_URL_FILE: 'http://proxy.example.com:3128',
  GWK_WORKER_PROXY_URL_FILE: 'socks5://proxy.example.com:1080',
  GWK_OPERATOR_TOKEN_FILE: 'x'.repeat(32),
  GWK_API_CONSOLE_PLATFORM_TOKEN_FILE: 'x'.repeat(32),
  GWK_ENCRYPTION_KEYS_FILE: Buffer.alloc(32).toString('base64'),
};

function pathsOf(volume: Record<string, unknown>): string[] {
  type Source = { items: { path: string }[] };
  const { projected, secret } = volume as {
    projected?: { sources: Record<string, Source>[] };
    secret?: Source;
  };
  const sources = projected
    ? projected.sources.flatMap((source) => Object.values(source))
    : secret
      ? [secret]
      : [];
  return sources.flatMap(({ items }) => items.map(({ path }) => path));
}

describe('values', () => {
  const text = read('charts/gwk/values.yaml');
  type Schema = { properties?: Record<string, Schema>; $ref?: string; propertyNames?: { enum?: string[] } };
  const schema = JSON.parse(read('charts/gwk/values.schema.json')) as Schema & {
    $defs: Record<string, Schema>;
  };

  test('every value has a comment above it', () => {
    const lines = text.split('\n');
    const bare = lines.filter(
      (line, index) => /^ *[A-Za-z0-9]+:/.test(line) && !/^ *#/.test(lines[index - 1] ?? ''),
    );
    // Fields inside a default object need no comment.
    expect(bare.filter((line) => !/^ +(requests|limits|default|resources|podSelector):/.test(line))).toEqual(
      [],
    );
  });

  test('the schema has exactly the values', () => {
    const namesOf = (schemaHere: Schema, valuesHere: unknown, path: string): void => {
      const resolved = schemaHere.$ref ? schema.$defs[schemaHere.$ref.split('/').at(-1)!]! : schemaHere;
      if (!resolved.properties || typeof valuesHere !== 'object' || valuesHere === null) return;
      const known = Object.keys(resolved.properties);
      const given = Object.keys(valuesHere);
      if (given.length > 0 || path === '') expect([path, given.sort()]).toEqual([path, known.sort()]);
      for (const name of given)
        namesOf(resolved.properties[name]!, (valuesHere as Record<string, unknown>)[name], `${path}.${name}`);
    };
    const values = parse(text) as Record<string, Record<string, unknown>>;
    delete values['engine'];
    delete schema.properties!['engine'];
    namesOf(schema, values, '');
  });

  test.each(Object.keys(PROGRAMS))(
    'the schema allows every setting of %s without a chart value',
    (program) => {
      const allowed = schema.properties![program]!.properties!['settings']!.propertyNames!.enum!;
      const all = Object.values(PROGRAMS[program]!).map(({ env }) => env);
      expect(allowed.filter((name) => !all.includes(name))).toEqual([]);
      // A new setting is either in the schema or set by a template.
      const templates = readdirSync(join(ROOT, 'charts/gwk/templates'))
        .filter((file) => /\.(yaml|tpl)$/.test(file))
        .map((file) => read(`charts/gwk/templates/${file}`))
        .join('\n');
      const LEFT_ALONE =
        /^(HTTPS_PROXY|GWK_(EXIT_WITH_PARENT|OPERATOR_LOCAL_\w+|\w+_(HOST|PORT)|API_CLUSTER_URL|API_OPERATOR_URL))$/;
      const missing = all.filter(
        (name) => !allowed.includes(name) && !templates.includes(name) && !LEFT_ALONE.test(name),
      );
      expect(missing).toEqual([]);
    },
  );

  test.each([
    ['a folder', {}, '256Mi'],
    ['a bucket, where it has unfinished uploads', { media: { s3: { bucket: 'gwk-media' } } }, '3Gi'],
    ['a bucket for large files', { media: { maxSize: 2000, s3: { bucket: 'gwk-media' } } }, '8Gi'],
  ])('the API has a bounded /tmp with %s', (_, values, sizeLimit) => {
    const { pod } = deploymentOf({ ...MINIMAL_VALUES, ...values }, 'api');
    expect(pod.spec.volumes).toContainEqual({ name: 'tmp', emptyDir: { sizeLimit } });
  });

  test('the decoder has no secret, no volume of the worker, no token and a user of its own', () => {
    const { pod } = deploymentOf(MINIMAL_VALUES, 'worker');
    const decoder = pod.spec.containers.find(({ name }) => name === 'decoder')!;
    const { env, envFrom, volumeMounts, securityContext } = decoder as unknown as Record<string, unknown>;
    expect(env).toEqual([
      { name: 'GWK_DECODER_SOCKET', value: '/run/gwk-decoder/socket' },
      { name: 'GWK_LOG_LEVEL', value: 'info' },
    ]);
    expect(envFrom).toBeUndefined();
    expect(volumeMounts).toEqual([
      { name: 'decoder-tmp', mountPath: '/tmp' },
      { name: 'decoder', mountPath: '/run/gwk-decoder' },
    ]);
    expect(pod.spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsUser: 65532 },
    });
    expect(securityContext).toMatchObject({ runAsUser: 65533, readOnlyRootFilesystem: true });
    expect(readEnvironment(pod.spec.containers[0]!)).toMatchObject({
      GWK_WORKER_DECODER: '/run/gwk-decoder/socket',
    });
  });

  test('the probe of the decoder fails without an answer on its socket', async () => {
    const { pod } = deploymentOf(MINIMAL_VALUES, 'worker');
    const decoder = pod.spec.containers.find(({ name }) => name === 'decoder')!;
    const { livenessProbe } = decoder as unknown as { livenessProbe: { exec: { command: string[] } } };
    const [, ...args] = livenessProbe.exec.command;
    const folder = temporaryFolder();
    const env = { GWK_DECODER_SOCKET: join(folder.path, 'socket') };
    const probe = () =>
      new Promise((resolve) => execFile(process.execPath, args, { env }, (error) => resolve(error === null)));
    expect(await probe()).toBe(false);
    const isolation = { kind: 'none', user: null, prefix: () => [] } as const;
    const log = createLogger('test', 'silent');
    const options = { socket: env.GWK_DECODER_SOCKET, folder: folder.path, ffmpeg: null, isolation, log };
    const server = await startDecoderServer(options);
    expect(await probe()).toBe(true);
    server.close();
    folder.remove();
  });
});

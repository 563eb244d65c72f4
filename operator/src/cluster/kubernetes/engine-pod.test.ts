import type { Pod } from '../cluster.js';
import { derivePod, isNodeLost, readPod, type RawPod } from './engine-pod.js';
import { buildPod, computeRevision } from './pod-spec.js';
import { LABELS } from '@gwk/core/kubernetes/names';
import { readProfiles, readVersion, type Profile } from './profiles.js';
import { temporaryFolder } from '@gwk/test/support/operator/folder';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const AT = '2026-03-01T12:00:00Z';
const settings = {
  internalUrl: 'https://api:8081',
  internalCa: undefined,
  logLevel: 'info',
  mediaMaxMb: 100,
  networks: {
    networkUrl: undefined,
    networkRoot: undefined,
    networkCa: undefined,
    sandboxNetwork: undefined,
    clientVersion: 'auto',
  },
};
const profile = (special: object = {}): Profile => {
  const folder = temporaryFolder();
  const file = join(folder.path, 'profiles.yaml');
  writeFileSync(file, JSON.stringify({ default: { image: 'engine:1.2.3', ...special } }));
  const read = readProfiles(file);
  folder.remove();
  return read['default']!;
};
const plan = {
  key: 'shops/first',
  uid: 'u-1',
  name: 'gwk-first-abc',
  instanceId: '0195a000-0000-7000-8000-000000000001',
  template: { profile: 'default', logLevel: null, revision: 'r1' },
};

/** An engine's pod as the API server returns it, with this status. */
function shown(status: object, metadata: object = {}, nodeName: string | null = 'n1'): RawPod {
  const pod = buildPod(plan, profile(), settings);
  return {
    ...pod,
    metadata: { ...pod.metadata!, uid: 'p-1', resourceVersion: '1', creationTimestamp: AT, ...metadata },
    spec: { ...pod.spec!, ...(nodeName !== null && { nodeName }) },
    status,
  } as unknown as RawPod;
}

const container = (state: object) => ({ containerStatuses: [{ name: 'engine', state }] });
const running = { phase: 'Running', ...container({ running: { startedAt: AT } }) };
const failed = (terminated: object) => ({
  phase: 'Failed',
  ...container({ terminated: { finishedAt: AT, ...terminated } }),
});
const deletion = { deletionTimestamp: AT, deletionGracePeriodSeconds: 30 };

const read = (raw: RawPod, lost = false): Pod => derivePod(readPod(raw)!, lost);

const PHASES: [string, RawPod, boolean, object][] = [
  ['is not scheduled yet', shown({ phase: 'Pending' }, {}, null), false, { phase: 'starting', node: null }],
  [
    'has a container being created',
    shown({ phase: 'Pending', ...container({ waiting: { reason: 'ContainerCreating' } }) }),
    false,
    { phase: 'starting', waiting: null },
  ],
  [
    'runs',
    shown(running),
    false,
    { phase: 'running', startedAt: Date.parse(AT), shownAs: 'gwk-first', name: 'gwk-first-abc' },
  ],
  [
    'is asked to end',
    shown(running, deletion),
    false,
    { phase: 'ending', endingSince: Date.parse(AT) - 30_000 },
  ],
  ['runs on a lost node', shown(running), true, { phase: 'unknown' }],
  ['is asked to end on a lost node', shown(running, deletion), true, { phase: 'unknown' }],
  ['ended on a node that was lost later', shown(failed({ exitCode: 1 })), true, { phase: 'ended' }],
  [
    'exited by itself',
    shown(
      failed({ exitCode: 10, reason: 'Error', message: '{"level":"error","msg":"the lease was refused"}\n' }),
    ),
    false,
    { phase: 'ended', requested: false, how: 'exit code 10: the lease was refused' },
  ],
  [
    'exited with code 0',
    shown({
      phase: 'Succeeded',
      ...container({ terminated: { exitCode: 0, reason: 'Completed', finishedAt: AT } }),
    }),
    false,
    { phase: 'ended', how: 'exit code 0' },
  ],
  [
    'was OOM-killed',
    shown(failed({ exitCode: 137, reason: 'OOMKilled' })),
    false,
    { phase: 'ended', how: 'OOMKilled (exit code 137)', requested: false },
  ],
  [
    'exited on request',
    shown(failed({ exitCode: 143 }), deletion),
    false,
    { phase: 'ended', requested: true },
  ],
  [
    'was evicted by its node',
    shown({ reason: 'Evicted', message: 'low on memory', ...failed({ exitCode: 137 }) }),
    false,
    { phase: 'ended', requested: true },
  ],
  [
    'exited in a disruption',
    shown({ conditions: [{ type: 'DisruptionTarget', status: 'True' }], ...failed({ exitCode: 143 }) }),
    false,
    { phase: 'ended', requested: true },
  ],
  [
    'was rejected by its node',
    shown({ phase: 'Failed', reason: 'OutOfmemory', message: 'no capacity' }),
    false,
    { phase: 'ended', how: 'OutOfmemory: no capacity' },
  ],
  [
    'has phase Failed without a terminated container',
    shown({ phase: 'Failed', ...container({ running: { startedAt: AT } }) }),
    false,
    { phase: 'running' },
  ],
  [
    'has a terminated container before its phase changes',
    shown({ phase: 'Running', ...container({ terminated: { exitCode: 1, finishedAt: AT } }) }),
    false,
    { phase: 'ended' },
  ],
];

test.each(PHASES)('reads a pod that %s', (_, raw, lost, wanted) => {
  expect(read(raw, lost)).toMatchObject(wanted);
});

test.each([
  ['ErrImagePull', 'ImagePullFailed'],
  ['ImagePullBackOff', 'ImagePullFailed'],
  ['InvalidImageName', 'ImagePullFailed'],
  ['ErrImageNeverPull', 'ImagePullFailed'],
  ['CreateContainerConfigError', 'ContainerNotStarted'],
  ['CreateContainerError', 'ContainerNotStarted'],
])('maps waiting reason %s to %s', (reason, wanted) => {
  const raw = shown({ phase: 'Pending', ...container({ waiting: { reason, message: 'why' } }) });
  expect(read(raw)).toMatchObject({
    phase: 'starting',
    waiting: { reason: wanted, message: `${reason}: why` },
  });
});

test('reports a pod that no node accepts as Unschedulable', () => {
  const condition = {
    type: 'PodScheduled',
    status: 'False',
    reason: 'Unschedulable',
    message: '0/3 nodes are available',
  };
  const raw = shown({ phase: 'Pending', conditions: [condition] }, {}, null);
  expect(read(raw)).toMatchObject({
    waiting: { reason: 'Unschedulable', message: '0/3 nodes are available' },
  });
});

test.each([
  ['no labels', { labels: {} }],
  ['no annotations', { annotations: {} }],
  ['an invalid template', { annotations: { 'gwk.dev/engine': 'x', 'gwk.dev/template': '{' } }],
  ['another name', { name: 'copy-of-gwk-first' }],
])('ignores a pod with %s', (_, metadata) => {
  expect(readPod(shown(running, metadata))).toBeNull();
});

test('takes fields of security contexts from the profile, and leaves out those that are null', () => {
  const own = profile({
    podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null, supplementalGroups: [5000] },
    containerSecurityContext: { readOnlyRootFilesystem: false },
  });
  const { spec } = buildPod(plan, own, settings);
  expect(spec!.securityContext).toEqual({
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
    supplementalGroups: [5000],
  });
  expect(spec!.containers[0]!.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: false,
    capabilities: { drop: ['ALL'] },
  });
});

test('takes account, DNS settings and host names from the profile', () => {
  const own = {
    serviceAccountName: 'engines',
    dnsPolicy: 'None',
    dnsConfig: { nameservers: ['192.0.2.53'], options: [{ name: 'ndots', value: '1' }] },
    hostAliases: [{ ip: '192.0.2.9', hostnames: ['redis.example.com'] }],
  };
  expect(buildPod(plan, profile(own), settings).spec).toMatchObject({
    ...own,
    automountServiceAccountToken: false,
  });
});

test('has space on disk for the largest file', () => {
  const { volumes } = buildPod(plan, profile(), { ...settings, mediaMaxMb: 2_000 }).spec!;
  expect(volumes).toContainEqual({ name: 'tmp', emptyDir: { sizeLimit: '3024Mi' } });
});

test('mounts the address of a proxy from its Secret, and does not contain it', () => {
  const proxy = { secretName: 'way-out', caKey: 'ca', noProxy: ['10.0.0.0/8', '.corp.example.com'] };
  const { volumes, containers } = buildPod(plan, profile({ proxy }), settings).spec!;
  expect(volumes!.find(({ name }) => name === 'proxy')).toEqual({
    name: 'proxy',
    secret: {
      secretName: 'way-out',
      items: [
        { key: 'proxy-url', path: 'url' },
        { key: 'ca', path: 'ca.crt' },
      ],
      defaultMode: 0o440,
    },
  });
  expect(containers[0]!.volumeMounts).toContainEqual({
    name: 'proxy',
    mountPath: '/var/run/gwk-proxy',
    readOnly: true,
  });
  const env = Object.fromEntries(containers[0]!.env!.map(({ name, value }) => [name, value]));
  expect(env).toMatchObject({
    GWK_ENGINE_PROXY_URL_FILE: '/var/run/gwk-proxy/url',
    GWK_ENGINE_PROXY_CA_FILE: '/var/run/gwk-proxy/ca.crt',
    GWK_ENGINE_NO_PROXY: '10.0.0.0/8,.corp.example.com',
  });
});

test.each([
  ['auto', undefined, undefined],
  ['bundled', undefined, 'bundled'],
  ['bundled', 'auto', undefined],
  ['auto', '2.3000.1044142122', '2.3000.1044142122'],
])('with the client version %s and %s in the profile, engines get %s', (clientVersion, own, given) => {
  const networks = { ...settings.networks, clientVersion };
  const { containers } = buildPod(plan, profile({ clientVersion: own }), { ...settings, networks }).spec!;
  const set = containers[0]!.env!.find(({ name }) => name === 'GWK_ENGINE_CLIENT_VERSION');
  expect(set?.value).toBe(given);
});

test.each(['2.3000.1', 'latest', ''])('refuses the client version %j in a profile', (clientVersion) => {
  expect(() => profile({ clientVersion })).toThrow(
    'default.clientVersion: must be auto, bundled, or a version such as 2.3000.1044142122',
  );
});

test('changes the revision with every input, and only then', () => {
  const first = computeRevision(profile(), settings);
  expect(computeRevision(profile(), { ...settings })).toBe(first);
  const others = [
    computeRevision(profile({ image: 'engine:2' }), settings),
    computeRevision(profile({ resources: { limits: { memory: '1Gi' } } }), settings),
    computeRevision(profile({ nodeSelector: { disk: 'fast' } }), settings),
    computeRevision(profile(), { ...settings, internalUrl: 'https://other:8081' }),
    computeRevision(profile(), { ...settings, internalCa: 'another' }),
  ];
  expect(new Set([first, ...others]).size).toBe(6);
});

test.each([
  ['registry:5000/engine:1.2.3', '1.2.3'],
  ['registry:5000/engine', 'unknown'],
  ['engine:1.2@sha256:abc', '1.2'],
])('reads the version of %s as %s', (image, version) => {
  expect(readVersion(profile({ image }))).toBe(version);
});

test.each([
  ['reachable', { conditions: [{ type: 'Ready', status: 'True' }] }, [], false],
  ['not ready by its own report', { conditions: [{ type: 'Ready', status: 'False' }] }, [], false],
  ['unresponsive', { conditions: [{ type: 'Ready', status: 'Unknown' }] }, [], true],
  ['tainted as unreachable', {}, ['node.kubernetes.io/unreachable'], true],
  ['declared out of service', {}, ['node.kubernetes.io/out-of-service'], true],
])('reads a node that is %s', (_, status, taints, lost) => {
  const node = {
    metadata: { name: 'n', uid: 'u', resourceVersion: '1' },
    status,
    spec: { taints: taints.map((key) => ({ key, effect: 'NoExecute' })) },
  };
  expect(isNodeLost(node as never)).toEqual(lost);
});

test.each([
  ['no default', { other: { image: 'a' } }, /no profile "default"/],
  ['an unknown key', { default: { image: 'a', privileged: true } }, /privileged/],
  ['no image', { default: {} }, /default.image/],
])('rejects a file of profiles with %s', (_, content, word) => {
  const folder = temporaryFolder();
  const file = join(folder.path, 'profiles.yaml');
  writeFileSync(file, JSON.stringify(content));
  expect(() => readProfiles(file)).toThrow(word);
  folder.remove();
});

/** Cilium gives each set of labels an identity of its own. It ignores labels that match the patterns after `!`. */
test('the label filter of docs/install.md gives all engines of a version one set of labels', () => {
  const page = readFileSync(new URL('../../../../docs/install.md', import.meta.url), 'utf8');
  const [, filter] = /in Cilium `labels: '([^']+)'`/.exec(page)!;
  const ignored = filter!.split(' ').map((pattern) => new RegExp(`^${pattern.slice(1)}`));
  const labelsOf = (changed: object) => {
    const all = Object.entries(buildPod({ ...plan, ...changed }, profile(), settings).metadata!.labels!);
    return all.filter(([name]) => !ignored.some((pattern) => pattern.test(name)));
  };
  const second = { key: 'shops/second', instanceId: '0195a000-0000-7000-8000-000000000002' };
  expect(labelsOf(second)).toEqual(labelsOf({}));
  expect(labelsOf({}).map(([name]) => name)).toEqual([LABELS.name, LABELS.component, LABELS.managedBy]);
});

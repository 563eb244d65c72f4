import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { kubectl } from './kubectl.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { instancePath, type KubeObject, type TestCluster } from '../support/kubernetes/test-cluster.js';
import { ROOT } from '../support/program.js';

/** Tests the definition in crds/ with a real API server. */
const instance = (spec: object, name = 'shop'): KubeObject => ({
  apiVersion: 'gwk.dev/v1',
  kind: 'Instance',
  metadata: { name },
  spec,
});

const ACCEPTED: [string, object][] = [
  ['an account alone', { account: 'main' }],
  [
    'all fields',
    {
      account: 'main',
      displayName: 'Shop',
      kind: 'sandbox',
      suspended: true,
      logLevel: 'debug',
      engine: { profile: 'large' },
      interactiveMode: 'text',
    },
  ],
  ['eighty characters of more than one byte', { account: 'main', displayName: 'ç'.repeat(80) }],
  [
    'a policy',
    {
      account: 'main',
      policy: {
        messages_per_minute: 30,
        active_hours: { start: '08:00', end: '18:00', timezone: 'America/Sao_Paulo', outside: 'schedule' },
      },
    },
  ],
  [
    'a policy that resets a key',
    { account: 'main', policy: { messages_per_minute: null, mass_block: null } },
  ],
];

const REFUSED: [string, object, RegExp][] = [
  ['no account', {}, /account/],
  ['an empty account', { account: '' }, /account/],
  ['a name of 81 characters', { account: 'main', displayName: 'x'.repeat(81) }, /displayName/],
  ['a name with NUL', { account: 'main', displayName: 'a\u0000b' }, /displayName/],
  ['an unknown kind', { account: 'main', kind: 'phone' }, /kind/],
  ['an unknown mode', { account: 'main', interactiveMode: 'fancy' }, /interactiveMode/],
  ['an unknown log level', { account: 'main', logLevel: 'trace' }, /logLevel/],
  ['suspended as a string', { account: 'main', suspended: 'yes' }, /suspended/],
  ['a number out of range', { account: 'main', policy: { messages_per_minute: 0 } }, /messages_per_minute/],
  [
    'an invalid time',
    { account: 'main', policy: { active_hours: { start: '25:00', end: '18:00', timezone: 'UTC' } } },
    /active_hours/,
  ],
  [
    'half a window',
    { account: 'main', policy: { active_hours: { start: '08:00' } } },
    /start, end and timezone go together/,
  ],
  [
    'too many words',
    { account: 'main', policy: { opt_out: { keywords: Array.from({ length: 21 }, () => 'x') } } },
    /keywords/,
  ],
];

describeOnKubernetes('the Instance definition', (cluster) => {
  let namespace = '';
  beforeEach(async () => {
    namespace = await cluster().namespace();
  });

  const create = (spec: object, name?: string) =>
    cluster().post(instancePath(namespace), instance(spec, name));

  test.each(ACCEPTED)('accepts %s', async (_, spec) => {
    const { status, body } = await create(spec);
    expect([status, body.message]).toEqual([201, undefined]);
  });

  test.each(REFUSED)('rejects %s', async (_, spec, word) => {
    const { status, body } = await create(spec);
    expect(status).toBe(422);
    expect(body.message).toMatch(word);
  });

  test('sets defaults', async () => {
    const { body } = await create({ account: 'main' });
    expect(body['spec']).toEqual({
      account: 'main',
      kind: 'web',
      interactiveMode: 'native+text',
      onOtherAccount: 'refuse',
      suspended: false,
    });
  });

  test('drops images and placement from a resource', async () => {
    const { body } = await create({ account: 'main', engine: { image: 'evil', nodeSelector: { a: 'b' } } });
    expect(body['spec']).toMatchObject({ engine: { profile: 'default' } });
    expect(JSON.stringify(body['spec'])).not.toMatch(/evil|nodeSelector/);
  });

  test.each([
    ['kind', { kind: 'sandbox' }],
    ['account', { account: 'other' }],
  ])('rejects a change of %s', async (field, change) => {
    await create({ account: 'main' });
    const { status, body } = await cluster().merge(instancePath(namespace, 'shop'), { spec: change });
    expect(status).toBe(422);
    expect(body.message).toContain(`${field} cannot change`);
  });

  test('accepts names of at most 63 characters', async () => {
    expect((await create({ account: 'main' }, 'x'.repeat(63))).status).toBe(201);
    const { status, body } = await create({ account: 'main' }, 'x'.repeat(64));
    expect(status).toBe(422);
    expect(body.message).toContain('must have at most 63 characters');
  });

  test('writes the status separately, without a new generation', async () => {
    await create({ account: 'main' });
    const path = instancePath(namespace, 'shop');
    await cluster().merge(path, { status: { state: 'connected' } });
    expect((await cluster().get(path)).body['status']).toBeUndefined();
    const { status, body } = await cluster().merge(`${path}/status`, { status: { state: 'connected' } });
    expect([status, body.metadata.generation, body['status']]).toEqual([200, 1, { state: 'connected' }]);
  });

  test('has no scale subresource', async () => {
    await create({ account: 'main' });
    expect((await cluster().get(`${instancePath(namespace, 'shop')}/scale`)).status).toBe(404);
  });
});

const CONDITION = {
  reason: 'Ready',
  message: 'Ready to send and receive',
  observedGeneration: 1,
  lastTransitionTime: '2026-03-01T12:00:00.000Z',
};

async function ready(cluster: TestCluster, namespace: string): Promise<void> {
  await cluster.post(instancePath(namespace), instance({ account: 'main' }));
  await cluster.merge(`${instancePath(namespace, 'shop')}/status`, {
    status: {
      id: 'ins_0195a00000007000800000000000001a',
      state: 'connected',
      // An older operator writes it, and the API server drops it.
      phone: '5511999990000',
      engine: { pod: 'gwk-shop', node: 'n1', version: '0.1.0', startedAt: '2026-03-01T12:00:00.000Z' },
      conditions: [{ type: 'Ready', status: 'True', ...CONDITION }],
    },
  });
}

describeOnKubernetes('Instances with kubectl', (cluster) => {
  let namespace = '';
  beforeAll(async () => {
    namespace = await cluster().namespace();
    await ready(cluster(), namespace);
  });
  const run = (...args: string[]) => kubectl(cluster(), ['-n', namespace, ...args]);

  test.each(['gwi', 'instances', 'gwk'])('get %s prints the columns', (kind) => {
    const [header, row] = run('get', kind)
      .trim()
      .split('\n')
      .map((line) => line.split(/\s{2,}/));
    expect(header).toEqual(['NAME', 'READY', 'STATE', 'MODE', 'ENGINE', 'AGE']);
    expect(row!.slice(0, 5)).toEqual(['shop', 'True', 'connected', 'native+text', '0.1.0']);
  });

  test('get -o wide prints more columns', () => {
    const [header, row] = run('get', 'gwi', '-o', 'wide')
      .trim()
      .split('\n')
      .map((line) => line.split(/\s{2,}/));
    expect(header!.slice(6)).toEqual(['REASON', 'UPTODATE', 'ACCOUNT', 'ID', 'NODE']);
    expect(row!.slice(6)).toEqual(['Ready', 'main', 'ins_0195a00000007000800000000000001a', 'n1']);
  });

  test('wait --for=condition=Ready succeeds', () => {
    expect(run('wait', '--for=condition=Ready', 'gwi/shop', '--timeout=5s')).toContain('condition met');
  });

  const EXPLAINED = [
    ...['', '.spec', '.spec.policy', '.spec.policy.active_hours', '.spec.policy.mass_block'],
    ...['.spec.policy.opt_out', '.spec.engine', '.status', '.status.conditions', '.status.engine'],
  ];
  test.each(EXPLAINED)('explain gwi%s describes every field', (path) => {
    const text = run('explain', `gwi${path}`);
    expect(text).toContain('DESCRIPTION:');
    expect(text).not.toContain('<no description>');
  });

  test('describe prints all about one instance', () => {
    const text = run('describe', 'gwi', 'shop');
    for (const line of [/^Name: +shop$/m, /^Kind: +Instance$/m, /^ {2}Account: +main$/m])
      expect(text).toMatch(line);
    expect(text).toMatch(/Message: +Ready to send and receive/);
    expect(text).not.toContain('5511999990000');
  });

  test('wait times out for a condition that does not hold', () => {
    expect(() => run('wait', '--for=condition=Paired', 'gwi/shop', '--timeout=1s')).toThrow(/timed out/);
  });

  test('apply is idempotent', () => {
    const manifest = JSON.stringify(instance({ account: 'main', displayName: 'Two' }, 'second'));
    const apply = () => kubectl(cluster(), ['-n', namespace, 'apply', '-f', '-'], manifest);
    expect([apply(), apply()]).toEqual([
      'instance.gwk.dev/second created\n',
      'instance.gwk.dev/second unchanged\n',
    ]);
  });

  test('rejects an unknown field before sending', () => {
    const manifest = JSON.stringify(instance({ account: 'main', displayname: 'x' }, 'third'));
    expect(() => kubectl(cluster(), ['-n', namespace, 'apply', '-f', '-'], manifest)).toThrow(/displayname/);
  });
});

test('crds/ matches the schema in core', () => {
  const done = spawnSync(process.execPath, [join(ROOT, 'scripts/crds.js'), '--check'], { encoding: 'utf8' });
  expect([done.status, done.stderr]).toEqual([0, '']);
});

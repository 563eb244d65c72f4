import type { InstanceResource } from '@gwk/core/resources/manifest';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { InstancesClient } from './cli/instances/client.js';
import { startOperator, type OperatorOptions, type RunningOperator } from './program.js';
import { FaultyPort, NO_FAULTS, randomFrom } from '@gwk/test/support/operator/faulty-port';
import { STAND_IN_ENGINE, temporaryFolder, until } from '@gwk/test/support/operator/folder';
import { manifest } from '@gwk/test/support/operator/local-rest';

/** The whole operator against a port of its own, with stand-ins for engines. */
const TOKEN = 'a-token-of-the-local-cluster-for-tests';

let folder: ReturnType<typeof temporaryFolder>;
let port: FaultyPort;
let portUrl: string;
let operator: RunningOperator | undefined;
let client: InstancesClient;

beforeEach(async () => {
  folder = temporaryFolder();
  port = new FaultyPort(randomFrom(1));
  portUrl = await port.listen();
  process.env['STAND_IN_HISTORY'] = join(folder.path, 'history');
  process.env['STAND_IN_SCOPE'] = folder.path;
});

afterEach(async () => {
  await operator?.stop();
  operator = undefined;
  await port.close();
  folder.remove();
});

async function start(options: OperatorOptions = {}): Promise<RunningOperator> {
  operator = await startOperator(
    {
      logLevel: 'error',
      exitWithParent: false,
      operatorToken: 'x'.repeat(32),
      internalUrl: portUrl,
      internalCa: undefined,
      host: '127.0.0.1',
      port: 0,
      cluster: 'local',
      localFolder: join(folder.path, 'instances'),
      localToken: TOKEN,
      idleEngineMs: 600_000,
      networkUrl: undefined,
      networkRoot: undefined,
      networkCa: undefined,
      sandboxNetwork: undefined,
      namespaces: undefined,
      profilesFile: undefined,
      engineInternalUrl: undefined,
      upgradeWidth: 1,
      leaseName: 'gwk-operator',
    },
    {
      engineCommand: STAND_IN_ENGINE,
      print: () => undefined,
      graceMs: 10_000,
      backoff: { firstMs: 100, maxMs: 1000, random: () => 0 },
      ...options,
    },
  );
  client = new InstancesClient({ url: `http://127.0.0.1:${operator.port}`, token: TOKEN });
  return operator;
}

const apply = (name: string, spec: object = {}) =>
  client.apply('default', name, manifest(name, { account: 'main', kind: 'sandbox', ...spec }), true);
const get = (name: string) => client.get('default', name);
const condition = ({ status }: InstanceResource, type: string) =>
  status?.conditions.find((item) => item.type === type);
const isTrue = (name: string, type = 'Ready') =>
  until(`${name} is ${type}`, async () => condition(await get(name), type)?.status === 'True');
const because = (name: string, reason: string, type = 'EngineRunning') =>
  until(`${type} is ${reason}`, async () => condition(await get(name), type)?.reason === reason);
const podOf = async (name: string) => (await get(name)).status?.engine?.pod;
const isGone = (name: string) =>
  until(`${name} is gone`, () =>
    get(name).then(
      () => false,
      () => true,
    ),
  );

interface Note {
  what: string;
  pod: string;
  pid: number;
}

function history(): Note[] {
  const file = join(folder.path, 'history');
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Note);
}

const engine = async (): Promise<Note> =>
  until('an engine started', () => history().findLast(({ what }) => what === 'start'));

test('a manifest becomes an engine that holds its number, and the status says so', async () => {
  await start();
  await apply('shop');
  await isTrue('shop');
  const { metadata, status } = await get('shop');
  const { id } = port.factsOf(metadata.uid)!;
  expect(metadata.finalizers).toEqual(['gwk.dev/engine']);
  expect(status).toMatchObject({
    id: `ins_${id.replaceAll('-', '')}`,
    state: 'connected',
    observedGeneration: 1,
  });
  expect(status!.engine!.pod).toMatch(new RegExp(`^ins-${id.replaceAll('-', '')}-[0-9a-f]{10}$`));
});

test('at rest nothing is written', async () => {
  await start();
  await apply('shop');
  await isTrue('shop');
  const version = async () => (await client.list(null)).metadata.resourceVersion;
  let last: string | undefined;
  await until('what was told last is written', async () => {
    const former = last;
    last = await version();
    await sleep(500);
    return last === former;
  });
  const before = await get('shop');
  const list = await client.list(null);
  await sleep(2500);
  expect(await get('shop')).toEqual(before);
  expect((await client.list(null)).metadata).toEqual(list.metadata);
});

test('an engine that is killed is reported and started anew within seconds', async () => {
  await start();
  await apply('shop');
  await isTrue('shop');
  const first = await podOf('shop');
  process.kill((await engine()).pid, 'SIGKILL');
  await until('another one runs', async () => (await podOf('shop')) !== first && (await podOf('shop')));
  await isTrue('shop');
  expect(port.calls.get('engine-ended')).toBe(1);
  const reasons = (await client.events('default', 'shop')).map(({ reason }) => reason);
  // It may have connected at the look that found it running.
  const story = reasons.filter((reason) => reason !== 'EngineRunning');
  expect(story.slice(-3)).toEqual(['EngineEnded', 'EngineCreated', 'Connected']);
});

test('an engine that crashes again and again is a crash loop, told with its last words', async () => {
  port.behaviour = () => ({ exitCode: 78 });
  await start({ backoff: { firstMs: 200, maxMs: 60_000, random: () => 0 } });
  await apply('shop');
  await because('shop', 'CrashLoop');
  const { status } = await get('shop');
  expect(status!.lastError).toBe('exit code 78');
  expect(condition(await get('shop'), 'Ready')).toMatchObject({ status: 'False', reason: 'CrashLoop' });
  port.behaviour = () => ({});
  await isTrue('shop');
  expect((await get('shop')).status!.lastError).toBeNull();
});

test('an engine that hangs is replaced once its lease has long ended', async () => {
  // An engine boots within the silence, and one that hangs has no use for the grace.
  await start({ silentMs: 5000, graceMs: 500 });
  await apply('shop');
  await isTrue('shop');
  const first = await podOf('shop');
  process.kill((await engine()).pid, 'SIGSTOP');
  await until(
    'another one runs',
    async () => (await podOf('shop')) !== first && (await podOf('shop')),
    20_000,
  );
  await isTrue('shop');
  expect((await client.events('default', 'shop')).map(({ reason }) => reason)).toContain('EngineSilent');
}, 30_000);

test('suspending stops the engine, resuming starts it', async () => {
  await start();
  await apply('shop');
  await isTrue('shop');
  const file = join(folder.path, 'instances', 'shop.yaml');
  appendFileSync(file, '  suspended: true\n');
  await because('shop', 'Suspended');
  await until('it is gone', () => history().at(-1)?.what === 'end');
  writeFileSync(file, readFileSync(file, 'utf8').replace('suspended: true', 'suspended: false'));
  await isTrue('shop');
});

test('a change of the spec that the row carries leaves the engine alone, another log level does not', async () => {
  await start();
  await apply('shop');
  await isTrue('shop');
  const first = await podOf('shop');
  await apply('shop', { displayName: 'Loja', interactiveMode: 'text' });
  await until('it is taken in', async () => (await get('shop')).status?.observedGeneration === 2);
  await sleep(300);
  expect(await podOf('shop')).toBe(first);
  await apply('shop', { displayName: 'Loja', interactiveMode: 'text', logLevel: 'debug' });
  await until('another one runs', async () => (await podOf('shop')) !== first && (await podOf('shop')));
  await isTrue('shop');
});

describe('what is not accepted', () => {
  const displayName = ({ spec }: InstanceResource) => spec.displayName;

  test('has no engine, and is asked about again as soon as another instance has changed', async () => {
    const names = new Map<string, string | undefined>();
    port.refuse = ({ metadata, spec }) => {
      const taken = [...names].some(([uid, name]) => uid !== metadata.uid && name === spec.displayName);
      if (!taken) names.set(metadata.uid, spec.displayName);
      return taken ? 'NameTaken' : null;
    };
    await start();
    await apply('a', { displayName: 'Shop' });
    await isTrue('a');
    await apply('b', { displayName: 'Shop' });
    await because('b', 'NameTaken', 'Accepted');
    expect((await get('b')).status).toMatchObject({ engine: null });
    await apply('a', { displayName: 'Old shop' });
    await isTrue('b');
    expect(displayName(await get('b'))).toBe('Shop');
  });

  test('because it was deleted through the API goes, engine and resource', async () => {
    await start();
    await apply('shop');
    await isTrue('shop');
    port.refuse = () => 'Deleted';
    port.rows.clear();
    await isGone('shop');
    expect(history().at(-1)!.what).toBe('end');
    expect(existsSync(join(folder.path, 'instances', 'shop.yaml'))).toBe(false);
  });
});

describe('deletion', () => {
  test('the engine ends before the row is removed, and then the resource goes', async () => {
    port.behaviour = () => ({ farewellMs: 2_000 });
    await start();
    await apply('shop');
    await isTrue('shop');
    const { uid } = (await get('shop')).metadata;
    await client.delete('default', 'shop');
    await sleep(100);
    expect(port.calls.get('remove')).toBeUndefined();
    await isGone('shop');
    expect(history().at(-1)!.what).toBe('end');
    expect(port.factsOf(uid)).toBeUndefined();
    expect(port.calls.get('remove')).toBe(1);
  });

  test('a lease that an engine elsewhere holds is waited for', async () => {
    await start();
    await apply('shop', { suspended: true });
    await because('shop', 'Suspended');
    const { uid } = (await get('shop')).metadata;
    let began = 0;
    // From the first removal on, whenever the operator comes to it.
    port.removing = (facts) => {
      if (began !== 0) return;
      began = Date.now();
      facts.lease = { pod: 'elsewhere', epoch: 9, expires_at: new Date(began + 1500).toISOString() };
    };
    await client.delete('default', 'shop');
    await isGone('shop');
    expect(Date.now() - began).toBeGreaterThan(1400);
    expect(port.factsOf(uid)).toBeUndefined();
    expect(port.calls.get('remove')).toBe(2);
  });

  test('an instance that was never accepted goes as well', async () => {
    port.faults = { before: 1, after: 0, late: 0, stale: 0 };
    await start();
    await apply('shop');
    await because('shop', 'NotProjected');
    await client.delete('default', 'shop');
    await sleep(300);
    port.faults = NO_FAULTS;
    await isGone('shop');
  });
});

describe('an API that is away', () => {
  const DOWN = { before: 1, after: 0, late: 0, stale: 0 };

  test('at the start: the operator waits and goes on when it is there', async () => {
    port.faults = DOWN;
    await start();
    await apply('shop');
    await because('shop', 'NotProjected');
    expect((await get('shop')).status!.lastError).toBe('The API does not answer');
    port.faults = NO_FAULTS;
    await isTrue('shop');
  });

  test('later: engines that run go on running, and new ones wait', async () => {
    await start();
    await apply('shop');
    await isTrue('shop');
    const first = await podOf('shop');
    port.faults = DOWN;
    await apply('shop', { displayName: 'Loja' });
    await apply('help');
    await sleep(2500);
    expect(await podOf('shop')).toBe(first);
    expect(condition(await get('help'), 'EngineRunning')!.reason).toBe('NotProjected');
    port.faults = NO_FAULTS;
    await isTrue('help');
    await until('the change is taken in', async () => (await get('shop')).status?.observedGeneration === 2);
    expect(await podOf('shop')).toBe(first);
  });

  test('an engine that ends meanwhile is reported first, when the API is back', async () => {
    await start();
    await apply('shop');
    await isTrue('shop');
    port.faults = DOWN;
    process.kill((await engine()).pid, 'SIGKILL');
    await because('shop', 'EngineEnded');
    await sleep(700);
    expect(history().filter(({ what }) => what === 'start')).toHaveLength(1);
    port.faults = NO_FAULTS;
    await isTrue('shop');
  });
});

test('an operator that stops ends its engines and frees their leases; the next one starts them anew', async () => {
  const first = await start();
  await apply('shop');
  await isTrue('shop');
  const { uid } = (await get('shop')).metadata;
  await first.stop();
  operator = undefined;
  expect(history().at(-1)!.what).toBe('end');
  expect(port.factsOf(uid)!.lease.pod).toBeNull();
  await start();
  await until('a second one runs', () => history().filter(({ what }) => what === 'start').length === 2);
  await isTrue('shop');
  expect(history().map(({ what }) => what)).toEqual(['start', 'end', 'start']);
});

test('health names its checks, metrics count', async () => {
  const { port: listening } = await start();
  await apply('shop');
  await isTrue('shop');
  const fetchText = async (path: string) => (await fetch(`http://127.0.0.1:${listening}${path}`)).text();
  expect(JSON.parse(await fetchText('/livez'))).toEqual({ status: 'ok', checks: {} });
  expect(JSON.parse(await fetchText('/readyz'))).toEqual({
    status: 'ok',
    checks: { started: { ok: true }, folder: { ok: true }, api: { ok: true } },
  });
  const metrics = await fetchText('/metrics');
  expect(metrics).toContain('gwk_operator_instances 1');
  expect(metrics).toContain('gwk_operator_pods{phase="running"} 1');
  expect(metrics).toContain('gwk_operator_conditions{type="Ready",status="True"} 1');
  expect(metrics).toMatch(/gwk_operator_passes_total\{result="done"\} \d+/);
});

test('two hundred instances at once', async () => {
  const instances = join(folder.path, 'instances');
  mkdirSync(instances);
  const names = Array.from({ length: 200 }, (_, i) => `n${i}`);
  for (const name of names) {
    writeFileSync(
      join(instances, `${name}.json`),
      JSON.stringify(manifest(name, { account: 'main', kind: 'sandbox' })),
    );
  }
  const since = performance.now();
  // So many Node processes would be a test of the machine: these print a line and leave when their input closes.
  const { port: listening } = await start({
    engineCommand: ['/bin/sh', '-c', 'echo "{}"; read line'],
  });
  const running = async () =>
    (await (await fetch(`http://127.0.0.1:${listening}/metrics`)).text()).includes(
      'gwk_operator_pods{phase="running"} 200',
    );
  await until('all run', running, 60_000);
  expect(port.calls.get('issue-token')).toBe(200);
  const asked = port.calls.get('project')!;
  // Once for each; the round in which everything is looked at anew has come to one more in each second.
  const lookedAtAnew = Math.ceil((performance.now() - since) / 1000);
  expect(asked).toBeGreaterThanOrEqual(200);
  expect(asked).toBeLessThanOrEqual(200 + lookedAtAnew);
}, 90_000);

import type { OperatorDesiredState } from '@gwk/core/desired-state/desired-state';
import type { OperatorOptions, RunningOperator } from '@gwk/operator/options';
import { startOperator } from '@gwk/operator/program';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeInternalApi, randomFrom } from '../../support/operator/fake-internal-api.js';
import { FAKE_ENGINE, temporaryFolder } from '../../support/operator/folder.js';
import { applySpec, connectTo, TOKEN } from '../../support/operator/local-stage.js';
import { baseEnvironment, GWK } from '../../support/program.js';
import { realTime, until } from '../../support/wait.js';

/**
 * Tests the whole operator on one machine with its own fake API and fake engines as processes. Its decisions and
 * their timing are tested beside the controller.
 */

let folder: ReturnType<typeof temporaryFolder>;
let api: FakeInternalApi;
let apiUrl: string;
let operator: RunningOperator | undefined;
let client: OperatorDesiredState;

beforeEach(async () => {
  folder = temporaryFolder();
  api = new FakeInternalApi(randomFrom(1));
  api.leaseMs = 600_000;
  apiUrl = await api.listen();
  process.env['FAKE_ENGINE_HISTORY'] = join(folder.path, 'history');
  process.env['FAKE_ENGINE_SCOPE'] = folder.path;
});

afterEach(async () => {
  delete process.env['FAKE_ENGINE_HISTORY'];
  delete process.env['FAKE_ENGINE_SCOPE'];
  await operator?.stop();
  operator = undefined;
  await api.close();
  folder.remove();
});

async function start(options: OperatorOptions = {}): Promise<RunningOperator> {
  operator = await startOperator(
    {
      logLevel: 'error',
      exitWithParent: false,
      operatorToken: 'x'.repeat(32),
      internalUrl: apiUrl,
      internalCa: undefined,
      host: '127.0.0.1',
      port: 0,
      cluster: 'local',
      localFolder: folder.path,
      localToken: TOKEN,
      idleEngineMs: 600_000,
      maxUnpairedEngines: 50,
      networkUrl: undefined,
      networkRoot: undefined,
      networkCa: undefined,
      sandboxNetwork: undefined,
      clientVersion: 'auto',
      mediaMaxMb: 100,
      namespaces: undefined,
      profilesFile: undefined,
      engineInternalUrl: undefined,
      maxConcurrentUpgrades: 1,
      upgradeCanary: undefined,
      leaseName: 'gwk-operator',
    },
    {
      engineCommand: FAKE_ENGINE,
      print: () => undefined,
      backoff: { firstMs: 100, maxMs: 1000, random: () => 0 },
      ...options,
    },
  );
  client = connectTo(`http://127.0.0.1:${operator.port}`);
  return operator;
}

const apply = (name: string, suspended = false) =>
  applySpec(client, name, { account: 'main', kind: 'sandbox', suspended });
const place = (name: string) => ({ namespace: 'default', name });
const get = async (name: string) => (await client.get(place(name)))!;
const isReady = (name: string) =>
  until(
    async () => {
      const { status } = await get(name);
      return status?.conditions.some((one) => one.type === 'Ready' && one.status === 'True');
    },
    { what: `${name} is ready` },
  );

interface Note {
  what: string;
  pod: string;
  pid: number;
}

function history(): Note[] {
  const written = join(folder.path, 'history');
  if (!existsSync(written)) return [];
  return readFileSync(written, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Note);
}

const acts = (): string =>
  history()
    .map(({ what }) => what)
    .join();
const untilActs = (wanted: string) => until(() => acts() === wanted, { what: `engines did ${wanted}` });

test('starts an engine, and serves health and metrics', async () => {
  const { port: listening } = await start();
  await apply('shop');
  await isReady('shop');
  const { metadata, status } = await get('shop');
  const { id } = api.factsOf(metadata.uid)!;
  expect(metadata.finalizers).toEqual(['gwk.dev/engine']);
  expect(status).toMatchObject({
    id: `ins_${id.replaceAll('-', '')}`,
    state: 'connected',
    observedGeneration: 1,
  });
  expect(status!.engine!.pod).toMatch(new RegExp(`^ins-${id.replaceAll('-', '')}-[0-9a-f]{10}$`));

  const fetchText = async (path: string) => (await fetch(`http://127.0.0.1:${listening}${path}`)).text();
  expect(JSON.parse(await fetchText('/livez'))).toEqual({ status: 'ok', checks: {} });
  expect(JSON.parse(await fetchText('/readyz'))).toEqual({
    status: 'ok',
    checks: { started: { ok: true }, instances: { ok: true }, api: { ok: true } },
  });
  const metrics = await fetchText('/metrics');
  expect(metrics).toContain('gwk_operator_instances 1');
  expect(metrics).toContain('gwk_operator_pods{phase="running"} 1');
  expect(metrics).toContain('gwk_operator_conditions{type="Ready",status="True"} 1');
  expect(metrics).toMatch(/gwk_operator_reconciles_total\{result="done",cause="event"\} \d+/);
});

test('reports a killed engine and restarts it', async () => {
  await start();
  await apply('shop');
  await isReady('shop');
  const [first] = history();
  process.kill(first!.pid, 'SIGKILL');
  await untilActs('start,start');
  await isReady('shop');
  expect((await get('shop')).status!.engine!.pod).toBe(history()[1]!.pod);
  expect(api.calls.get('engine-ended')).toBe(1);
});

test('replaces a hanging engine after the lease timeout', async () => {
  api.leaseMs = realTime(3_000);
  // A booting engine has no lease either: the timeout is several times the boot time beside other tests.
  await start({ leaseTimeoutMs: realTime(15_000), graceMs: realTime(500) });
  await apply('shop');
  await isReady('shop');
  const [first] = history();
  process.kill(first!.pid, 'SIGSTOP');
  await untilActs('start,start');
  await isReady('shop');
  const { status } = await get('shop');
  expect(status!.engine!.pod).toBe(history()[1]!.pod);
  expect(status!.engine!.pod).not.toBe(first!.pod);
});

test('follows suspend, resume and deletion', async () => {
  await start();
  await apply('shop');
  await isReady('shop');
  await apply('shop', true);
  await untilActs('start,end');
  await apply('shop');
  await isReady('shop');
  await client.delete(place('shop'));
  await until(async () => (await get('shop')) === null, { what: 'the instance is deleted' });
  expect(acts()).toBe('start,end,start,end');
});

test('stops engines and frees their leases on stop; the next operator restarts them', async () => {
  const first = await start();
  await apply('shop');
  await isReady('shop');
  const { uid } = (await get('shop')).metadata;
  await first.stop();
  operator = undefined;
  expect(acts()).toBe('start,end');
  expect(api.factsOf(uid)!.lease.pod).toBeNull();
  await start();
  await untilActs('start,end,start');
  await isReady('shop');
});

test('starts 200 instances at once', async () => {
  // 200 Node processes would test the machine. These print a line and exit when their input closes.
  const { port: listening } = await start({
    engineCommand: ['/bin/sh', '-c', 'echo "{}"; read line'],
  });
  await Promise.all(Array.from({ length: 200 }, (_, i) => apply(`n${i}`)));
  const running = async () =>
    (await (await fetch(`http://127.0.0.1:${listening}/metrics`)).text()).includes(
      'gwk_operator_pods{phase="running"} 200',
    );
  await until(running, { what: 'all run' });
  expect(api.calls.get('issue-token')).toBe(200);
});

/** Runs a command of `gwk` beside the operator. */
const runGwk = (...args: string[]) => startGwk(...args).ended;

function startGwk(...args: string[]) {
  const env = { ...baseEnvironment(), GWK_LOCAL_FOLDER: folder.path };
  const child = spawn(process.execPath, [GWK, ...args], { env });
  const printed = { out: '' };
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (printed.out += chunk.toString()));
  const ended = new Promise<{ code: unknown; out: string }>((resolve) => {
    child.once('close', (code) => resolve({ code, ...printed }));
  });
  return { printed, ended };
}

test('serves gwk instances', async () => {
  const missing = 'gwk instances: no gateway found on this machine; start one with make run\n';
  expect(await runGwk('instances', 'list')).toEqual({ code: 1, out: missing });
  await start();
  expect(await runGwk('instances', 'list')).toEqual({ code: 0, out: '[]\n' });
  await apply('ins-1');
  await isReady('ins-1');
  const { status } = await get('ins-1');
  const listed = {
    namespace: 'default',
    name: 'ins-1',
    id: status!.id,
    account: 'main',
    displayName: 'ins-1',
    kind: 'sandbox',
    state: 'connected',
    ready: 'True',
    reason: 'Ready',
  };
  expect(JSON.parse((await runGwk('instances', 'list')).out)).toEqual([listed]);
  for (const name of ['ins-1', 'ins_1'])
    expect(JSON.parse((await runGwk('instances', 'get', name)).out)).toEqual(await get('ins-1'));
  const { code, out } = await runGwk('instances', 'delete', 'ins_1');
  expect([code, JSON.parse(out)]).toEqual([0, { namespace: 'default', name: 'ins-1', deleting: true }]);
  await until(async () => (await get('ins-1')) === null, { what: 'the instance is deleted' });
  const unknown = 'gwk instances: Instance "default/ins-1" not found\n';
  expect(await runGwk('instances', 'get', 'ins-1')).toEqual({ code: 1, out: unknown });
});

test('serves gwk pair, and leaves neither request nor code behind', async () => {
  api.firstState = 'pending_pair';
  await start();
  await applySpec(client, 'ins-1', { account: 'main' });
  api.pairingCode = '2@first';
  const pairing = startGwk('pair', 'ins_1');
  const { uid } = (await get('ins-1')).metadata;
  await until(async () => (await client.details(place('ins-1')))!.pairing?.code === '2@first', {
    what: 'the code is published',
  });
  api.pairingCode = null;
  api.passkeyPage = 'https://gwk.example.org/console/acc_1/numbers/ins_1/pairing';
  await until(() => pairing.printed.out.includes(`Open ${api.passkeyPage} in a browser`), {
    what: 'the page for the passkey is printed',
  });
  const paired = { state: 'connected', pairing: false, first_paired_at: new Date().toISOString() } as const;
  Object.assign(api.factsOf(uid)!, paired);
  const { code, out } = await pairing.ended;
  expect([code, out]).toEqual([0, expect.stringContaining('ins-1 is paired')]);
  await until(async () => (await client.details(place('ins-1')))!.pairing === null, {
    what: 'the code is removed',
  });
  expect((await get('ins-1')).metadata.annotations).toEqual({});
});

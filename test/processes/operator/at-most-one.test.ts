import type { InstanceResource } from '@gwk/core/resources/manifest';
import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pickPort } from '../../support/ports.js';
import type { OperatorDesiredState } from '@gwk/core/desired-state/desired-state';
import {
  FakeInternalApi,
  NO_FAULTS,
  randomFrom,
  type Faults,
} from '../../support/operator/fake-internal-api.js';
import { temporaryFolder } from '../../support/operator/folder.js';
import { applySpec, connectTo } from '../../support/operator/local-stage.js';
import { endProcess, spawnOperator } from '../../support/operator/spawn-operator.js';
import { pause, until } from '../../support/wait.js';

/**
 * Checks that no instance ever has two engines, whatever fails. A real operator is killed and started. Engines are
 * killed, hang, crash and refuse to exit. Calls to the API fail before, after and late. Instances are changed and
 * deleted.
 * The kernel judges: each engine claims an abstract socket name that only one living process can have.
 */
const NAMES = ['a', 'b', 'c', 'd', 'e'];
/** Minimum number of actions; more are done until ENGINES engines have started. */
const MIN_ACTIONS = 250;
const ENGINES = 30;

interface Note {
  what: 'start' | 'end' | 'second';
  pod: string;
  instance: string;
  pid: number;
  at: number;
}

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9));
const random = randomFrom(seed);
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;

let folder: ReturnType<typeof temporaryFolder>;
let api: FakeInternalApi;
let apiUrl: string;
let restPort: number;
let operator: ChildProcess | undefined;
let client: OperatorDesiredState;

beforeAll(async () => {
  folder = temporaryFolder();
  api = new FakeInternalApi(random);
  apiUrl = await api.listen();
  restPort = await pickPort();
  client = connectTo(`http://127.0.0.1:${restPort}`);
});

afterAll(async () => {
  operator?.kill('SIGKILL');
  await until(() => engines().length === 0, { what: 'no engine is left' });
  await api.close();
  folder.remove();
});

const path = (file: string) => join(folder.path, file);

function startOperator(): void {
  operator = spawnOperator({ folder: folder.path, internalUrl: apiUrl, port: restPort });
}

const endOperator = (signal: NodeJS.Signals) => endProcess(operator!, signal);

function history(): Note[] {
  if (!existsSync(path('history'))) return [];
  return readFileSync(path('history'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Note);
}

/**
 * Living engines of this test, according to /proc. Reads only recorded pids: this process also answers the operator's
 * calls, and scanning all of /proc would delay them.
 */
function engines(): { pid: number; pod: string }[] {
  const noted = new Map(history().map(({ pid, pod }) => [`${pid} ${pod}`, { pid, pod }]));
  return [...noted.values()].filter(({ pid, pod }) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0] === pod;
    } catch {
      return false; // it has exited
    }
  });
}

const settled = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    () => undefined,
  );

async function apply(spec: object): Promise<void> {
  const name = pick(NAMES);
  await settled(applySpec(client, name, { account: 'main', kind: 'sandbox', ...spec }));
}

function signalEngine(signal: NodeJS.Signals): void {
  const running = engines();
  if (running.length > 0) kill(pick(running).pid, signal);
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has just exited.
  }
}

/** Fault levels of the API. */
const FAULT_LEVELS: Faults[] = [
  NO_FAULTS,
  NO_FAULTS,
  { before: 0.1, after: 0.15, late: 0.15, stale: 0.3 },
  { before: 0.1, after: 0.15, late: 0.15, stale: 0.3 },
  { before: 0.3, after: 0.3, late: 0.3, stale: 0.5 },
  { before: 1, after: 0, late: 0, stale: 0 },
];

/** Random actions by weight. */
const ACTIONS: [weight: number, action: () => Promise<void> | void][] = [
  [20, () => apply({})],
  [8, () => apply({ suspended: true })],
  [6, () => apply({ logLevel: pick(['debug', 'info']) })],
  [8, () => settled(client.delete({ namespace: 'default', name: pick(NAMES) }))],
  [14, () => signalEngine('SIGKILL')],
  [4, () => signalEngine('SIGSTOP')],
  [4, () => signalEngine('SIGCONT')],
  [3, () => signalEngine('SIGTERM')],
  [3, () => endOperator('SIGKILL').then(startOperator)],
  [1, () => endOperator('SIGTERM').then(startOperator)],
  [4, () => void (api.faults = pick(FAULT_LEVELS))],
];

async function runRandomAction(): Promise<void> {
  const total = ACTIONS.reduce((sum, [weight]) => sum + weight, 0);
  let dice = random() * total;
  for (const [weight, action] of ACTIONS) {
    dice -= weight;
    if (dice < 0) return action();
  }
}

const behaviours = [
  {},
  {},
  {},
  {},
  { stubborn: true },
  { farewellMs: 300 },
  { exitCode: 1, exitAfterMs: 50 },
  { exitCode: 0, exitAfterMs: 400 },
];

const condition = ({ status }: InstanceResource, type: string) =>
  status?.conditions.find((item) => item.type === type)?.status;

async function chaos(): Promise<void> {
  api.behaviour = () => pick(behaviours);
  startOperator();
  for (let actions = 0; actions < MIN_ACTIONS || started() < ENGINES; actions++) {
    await runRandomAction();
    await pause(random() * 80);
    if (operator!.exitCode !== null) startOperator();
  }
}

const started = (): number => history().filter(({ what }) => what === 'start').length;

async function recover(): Promise<void> {
  api.faults = NO_FAULTS;
  api.behaviour = () => ({});
  for (const { pid } of engines()) kill(pid, 'SIGCONT');
  await until(() => client.list(null), { what: 'the operator answers' });
}

/** Applies repeatedly, while an instance is still being deleted, until a new one exists. */
async function applyForGood(name: string, spec: object): Promise<void> {
  const wanted = { account: 'main', kind: 'sandbox' as const, ...spec };
  const isThere = ({ metadata }: InstanceResource) => metadata.deletionTimestamp === undefined;
  const attempt = () => applySpec(client, name, wanted).then(isThere, () => false);
  await until(attempt, { what: `${name} can be applied` });
}

async function runningNames(): Promise<string> {
  const items = await client.list(null);
  const running = items.filter((item) => condition(item, 'EngineRunning') === 'True');
  return running
    .map(({ metadata }) => metadata.name)
    .sort()
    .join();
}

function eventually(what: string, look: () => Promise<boolean>): Promise<boolean> {
  return until(look, { what }).catch(async (error: Error) => {
    throw new Error(`${error.message}: ${await describeState()}`);
  });
}

/** Describes the state for a failed expectation. */
async function describeState(): Promise<string> {
  const items = await client.list(null);
  const instances = items.map(({ metadata, status }) => {
    const conditions = status?.conditions.map(({ type, status: is, reason }) => `${type}=${is} ${reason}`);
    return `${metadata.name} (deleted ${metadata.deletionTimestamp ?? 'never'}): ${conditions?.join(', ')}`;
  });
  const alive = engines().map(({ pid, pod }) => `${pod} is ${pid}`);
  const log = readFileSync(path('operator.log'), 'utf8').trim().split('\n').slice(-40);
  return [...instances, ...alive, ...log].join('\n');
}

/** Needs /proc and Linux's abstract socket names. */
const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux(`never runs two engines for one instance (SEED=${seed})`, async () => {
  await chaos();
  await recover();

  for (const name of NAMES) await applyForGood(name, { suspended: name === 'a' });
  const asWanted = async () => (await runningNames()) === 'b,c,d,e' && engines().length === 4;
  await eventually('all but the suspended one run', asWanted);

  for (const name of NAMES) await client.delete({ namespace: 'default', name });
  await eventually('all are deleted', async () => (await client.list(null)).length === 0);
  expect(engines()).toEqual([]);
  await endOperator('SIGTERM');
  expect(JSON.parse(readFileSync(path('instances.json'), 'utf8'))).toEqual({ instances: [], pods: [] });

  expect(history().filter(({ what }) => what === 'second')).toEqual([]);
  expect(started()).toBeGreaterThanOrEqual(ENGINES);
});

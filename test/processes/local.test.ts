import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GatewayClient } from '../support/gateway/client.js';
import { pickPort } from '../support/ports.js';
import { listProcesses } from '../support/processes.js';
import { baseEnvironment, GWK, ROOT, type Environment } from '../support/program.js';
import { realTime, until } from '../support/wait.js';

/** `make run` from the user's point of view. */

const SETTINGS = ['API', 'INTERNAL', 'WORKER', 'OPERATOR', 'POSTGRES', 'REDIS'];
const PROGRAMS = ['api', 'worker', 'operator'];

let folder: string;
let settings: Environment;
let runs: Run[];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gwk-local-'));
  const ports = SETTINGS.map(async (name) => [`GWK_LOCAL_${name}_PORT`, String(await pickPort())] as const);
  settings = { GWK_LOCAL_FOLDER: folder, ...Object.fromEntries(await Promise.all(ports)) };
});
beforeEach(() => {
  runs = [];
});
afterEach(() => Promise.all(runs.map((run) => run.stop())));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

class Run {
  output = '';
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;

  constructor(more: Environment = {}) {
    const env = { ...baseEnvironment(), ...settings, ...more };
    this.child = spawn(process.execPath, [GWK, 'local', 'up'], {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
    this.ended = once(this.child, 'close').then(([code]) => code as number | null);
    runs.push(this);
  }

  async ready(): Promise<this> {
    const isOver = () => (this.child.exitCode === null ? undefined : this.output);
    await until(() => this.output.includes('Ctrl-C stops it'), {
      what: 'ready',
      timeoutMs: realTime(60_000),
      giveUp: isOver,
    });
    return this;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.child.kill(signal);
    return this.ended;
  }

  /** All descendant processes of this one. */
  descendants(): number[] {
    const all = listProcesses();
    const found = [this.child.pid!];
    for (const pid of found) found.push(...all.filter((item) => item.parent === pid).map((item) => item.pid));
    return found.slice(1);
  }

  program(name: string): number | undefined {
    return listProcesses().find(
      (item) => item.parent === this.child.pid && item.command.endsWith(`${GWK} ${name}`),
    )?.pid;
  }
}

const alive = (pids: number[]) => listProcesses().filter((item) => pids.includes(item.pid));

function readAccess(): { base_url: string; api_key: string } {
  return JSON.parse(readFileSync(join(folder, 'gwk.json'), 'utf8')) as { base_url: string; api_key: string };
}

async function instanceNames(): Promise<string[]> {
  const { base_url, api_key } = readAccess();
  const client = new GatewayClient(base_url, api_key);
  try {
    const answer = await client.call<{ data: { name: string }[] }>('GET', '/v1/instances');
    return answer.body.data.map((item) => item.name);
  } finally {
    client.close();
  }
}

test('prints a new key once, stops everything, and keeps the key for later runs', async () => {
  const first = await new Run().ready();
  const { base_url, api_key } = readAccess();
  expect(base_url).toBe(`http://127.0.0.1:${settings['GWK_LOCAL_API_PORT']}`);
  expect(first.output).toContain(base_url);
  expect(first.output).toContain(api_key);
  expect(first.output).toMatch(/curl -s http:\/\/127\.0\.0\.1/);
  for (const file of ['gwk.json', 'operator.json', 'secrets.json'])
    expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
  expect(statSync(folder).mode & 0o777).toBe(0o700);

  const client = new GatewayClient(base_url, api_key);
  const made = await client.call('POST', '/v1/instances', { body: { name: 'kept', kind: 'sandbox' } });
  client.close();
  expect(made.status).toBe(201);
  await until(() => first.descendants().length > 10, { what: 'the engine runs' });

  const all = first.descendants();
  expect(await first.stop('SIGINT')).toBe(0);
  await until(() => alive(all).length === 0, { what: `nothing is left: ${JSON.stringify(alive(all))}` });

  const second = await new Run().ready();
  expect(second.output).not.toContain(api_key);
  expect(readAccess()).toEqual({ base_url, api_key });
  expect(await instanceNames()).toEqual(['kept']);
});

test('refuses a second run and names the first', async () => {
  const first = await new Run().ready();
  const second = new Run();
  expect(await second.ended).toBe(1);
  expect(second.output).toContain(`make run is already running (pid ${first.child.pid})`);
  expect(await instanceNames()).toEqual(['kept']);
});

test('restarts a killed program and logs it', async () => {
  const run = await new Run().ready();
  for (const name of PROGRAMS) process.kill(run.program(name)!, 'SIGKILL');
  const back = () => PROGRAMS.every((name) => run.output.split(`${name} is ready`).length > 2);
  await until(back, { what: 'all are back', timeoutMs: realTime(30_000) });
  for (const name of PROGRAMS) expect(run.output).toContain(`${name} exited (ended by SIGKILL)`);
  expect(await instanceNames()).toEqual(['kept']);
});

test('ends all processes when killed, and starts again', async () => {
  const first = await new Run().ready();
  const all = first.descendants();
  expect(all.length).toBeGreaterThan(5);
  await first.stop('SIGKILL');
  const second = await new Run().ready();
  await until(() => alive(all).length === 0, { what: 'nothing of the first is left' });
  expect(second.output).not.toContain('did not start');
  expect(await instanceNames()).toEqual(['kept']);
});

test('refuses a folder with Instances as YAML files, and says what to do', async () => {
  const former = join(folder, 'former');
  const manifest = join(former, 'instances', 'shop.yaml');
  mkdirSync(join(former, 'instances'), { recursive: true });
  writeFileSync(manifest, 'kind: Instance\n');
  const run = new Run({ GWK_LOCAL_FOLDER: former });
  expect(await run.ended).toBe(1);
  expect(run.output).toMatch(/former\/instances contains Instances as YAML files.* make reset/);
  expect(run.output).not.toContain('starting');
  expect(existsSync(manifest)).toBe(true);
});

test('reports a port in use with the setting to change, and starts nothing', async () => {
  const port = settings['GWK_LOCAL_OPERATOR_PORT']!;
  const other = createServer().listen(Number(port), '127.0.0.1');
  await once(other, 'listening');
  try {
    const run = new Run();
    expect(await run.ended).toBe(1);
    expect(run.output).toMatch(new RegExp(`port ${port} is in use.*GWK_LOCAL_OPERATOR_PORT=`));
    expect(run.output).not.toContain('is ready');
  } finally {
    other.close();
  }
});

test('reports a component that cannot start with the end of its log, and stops everything', async () => {
  const run = new Run({ GWK_WORKER_WEBHOOK_TIMEOUT_MS: 'soon' });
  let all: number[] = [];
  const watching = setInterval(() => (all = [...new Set([...all, ...run.descendants()])]), 50);
  expect(await run.ended).toBe(1);
  clearInterval(watching);
  expect(run.output).toMatch(/worker did not start: exit code \d+[^]*GWK_WORKER_WEBHOOK_TIMEOUT_MS="soon"/);
  expect(all.length).toBeGreaterThan(5);
  await until(() => alive(all).length === 0, { what: 'nothing is left' });
});

test('stops everything during the start', async () => {
  const run = new Run();
  await until(() => run.output.includes('postgres is ready'), { what: 'half started' });
  const all = run.descendants();
  expect(await run.stop()).toBe(0);
  await until(() => alive(all).length === 0, { what: 'nothing is left' });
});

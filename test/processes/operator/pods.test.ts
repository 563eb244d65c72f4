import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { recordingLog, FAKE_ENGINE, temporaryFolder } from '../../support/operator/folder.js';
import { pause, until } from '../../support/wait.js';
import type { EndedPod, PodPlan } from '@gwk/operator/cluster/cluster';
import { Pods, type PodsOptions } from '@gwk/operator/cluster/local/pods';
import type { PodRecord } from '@gwk/operator/cluster/local/engine-process';
import { StateFile } from '@gwk/operator/cluster/local/state-file';
import { findProcess, isAlive } from '@gwk/operator/cluster/local/processes';

let folder: ReturnType<typeof temporaryFolder>;
let logs: string[];
let printed: string[];
const running: Pods[] = [];
const strays: ChildProcess[] = [];

beforeEach(() => {
  folder = temporaryFolder();
  logs = [];
  printed = [];
});

afterEach(async () => {
  for (const stray of strays.splice(0)) stray.kill('SIGKILL');
  await Promise.all(running.splice(0).map((pods) => pods.close()));
  folder.remove();
});

const statePath = () => join(folder.path, 'instances.json');
const INSTANCE = '0195a000-0000-7000-8000-000000000001';
const KEY = 'default/shop';

async function podsWith(
  settings: Record<string, string> = {},
  options: Partial<PodsOptions> = {},
): Promise<Pods> {
  const file = new StateFile(statePath());
  await file.load(() => undefined);
  const pods = new Pods({
    file,
    launch: { command: FAKE_ENGINE, isolation: null, settings, print: (line) => printed.push(line) },
    version: '9.9.9',
    log: recordingLog(logs),
    maxConcurrentStarts: 2,
    graceMs: 400,
    ...options,
  });
  running.push(pods);
  await pods.load(() => undefined);
  return pods;
}

function plan(pods: Pods, special: Partial<PodPlan> = {}): PodPlan {
  return {
    key: KEY,
    uid: 'uid-1',
    name: pods.newName({ key: KEY, uid: 'uid-1' }, special.instanceId ?? INSTANCE),
    instanceId: INSTANCE,
    token: 'secret-token',
    template: { profile: 'default', logLevel: null, revision: '' },
    ...special,
  };
}

const behaviour = (special: object): Record<string, string> => ({
  FAKE_ENGINE_BEHAVIOUR: JSON.stringify(special),
});
const phase = (pods: Pods, key = KEY) => pods.find(key).phase;
const hasEnded = (pods: Pods, key = KEY) =>
  until(() => phase(pods, key) === 'ended', { what: `${key} has ended` });
const runs = (pods: Pods, key = KEY) => until(() => phase(pods, key) === 'running', { what: `${key} runs` });
const records = (): PodRecord[] =>
  existsSync(statePath())
    ? (JSON.parse(readFileSync(statePath(), 'utf8')) as { pods: PodRecord[] }).pods
    : [];

test('starts, runs, stops and forgets a pod', async () => {
  const pods = await podsWith();
  const one = plan(pods);
  await pods.create(one);
  expect(pods.find(KEY)).toMatchObject({ phase: 'starting', name: one.name, uid: 'uid-1', version: '9.9.9' });
  await runs(pods);
  await pods.delete(one.name);
  expect(phase(pods)).toBe('ending');
  await hasEnded(pods);
  expect(pods.find(KEY)).toMatchObject({ requested: true, how: 'exit code 0' });
  expect(records()).toHaveLength(1);
  await pods.delete(one.name);
  expect(phase(pods)).toBe('absent');
  expect(records()).toEqual([]);
});

test("passes an engine its own settings and none of the operator's", async () => {
  process.env['GWK_OPERATOR_TOKEN'] = 'not for engines';
  process.env['DATABASE_URL'] = 'postgresql://not-for-engines';
  const printer = 'console.log(JSON.stringify({ level: "info", env: process.env, argv: process.argv }))';
  const pods = await podsWith(
    { GWK_ENGINE_INTERNAL_URL: 'http://127.0.0.1:1', GWK_LOG_LEVEL: 'info' },
    {
      launch: {
        command: [process.execPath, '-e', printer],
        isolation: null,
        settings: { GWK_ENGINE_INTERNAL_URL: 'http://127.0.0.1:1', GWK_LOG_LEVEL: 'info' },
        print: (line) => printed.push(line),
      },
    },
  );
  delete process.env['GWK_OPERATOR_TOKEN'];
  const one = plan(pods, { template: { profile: 'default', logLevel: 'debug', revision: '' } });
  await pods.create(one);
  await hasEnded(pods);
  const { env } = JSON.parse(printed[0]!) as { env: Record<string, string> };
  const settings = Object.entries(env).filter(([name]) => name.startsWith('GWK_'));
  delete process.env['DATABASE_URL'];
  expect(Object.fromEntries(settings)).toEqual({
    GWK_ENGINE_INTERNAL_URL: 'http://127.0.0.1:1',
    GWK_ENGINE_TOKEN: 'secret-token',
    GWK_ENGINE_POD: one.name,
    GWK_ENGINE_HOST: '127.0.0.1',
    GWK_ENGINE_PORT: '0',
    GWK_EXIT_WITH_PARENT: 'on',
    GWK_LOG_LEVEL: 'debug',
  });
  expect(env).toMatchObject({ MALLOC_ARENA_MAX: '1' });
  expect(env['NODE_OPTIONS']).toMatch(/^--max-semi-space-size=2\b/);
  expect(env).not.toHaveProperty('DATABASE_URL');
  expect(records()).toMatchObject([{ name: one.name }]);
  expect(readFileSync(statePath(), 'utf8')).not.toContain('secret-token');
});

test('kills an engine that does not exit within the grace period', async () => {
  const pods = await podsWith(behaviour({ stubborn: true }));
  const one = plan(pods);
  await pods.create(one);
  await runs(pods);
  const began = Date.now();
  await pods.delete(one.name);
  await pods.delete(one.name);
  await hasEnded(pods);
  expect(Date.now() - began).toBeGreaterThanOrEqual(380);
  expect(pods.find(KEY)).toMatchObject({ how: 'ended by SIGKILL', requested: true });
});

test('describes an exit with the last error', async () => {
  const line = JSON.stringify({ level: 'error', msg: 'the token is refused' });
  const pods = await podsWith(behaviour({ exitCode: 3, print: line }));
  await pods.create(plan(pods));
  await hasEnded(pods);
  expect(pods.find(KEY)).toMatchObject({ requested: false, how: 'exit code 3: the token is refused' });
});

test('passes log lines of an engine through, and wraps other output', async () => {
  const pods = await podsWith(behaviour({ exitCode: 1, print: 'Segmentation fault' }));
  await pods.create(plan(pods));
  await hasEnded(pods);
  expect(printed).toEqual([]);
  expect(logs.map((line) => JSON.parse(line) as { line?: string })).toContainEqual(
    expect.objectContaining({ level: 'warn', line: 'Segmentation fault' }),
  );
  expect((pods.find(KEY) as EndedPod).how).toBe('exit code 1: Segmentation fault');
});

test('reports a program that cannot start as ended', async () => {
  const pods = await podsWith(
    {},
    { launch: { command: ['/nowhere/engine'], isolation: null, settings: {}, print: () => undefined } },
  );
  await pods.create(plan(pods));
  await hasEnded(pods);
  expect((pods.find(KEY) as EndedPod).how).toContain('could not start');
});

describe('the mutex', () => {
  test('refuses a second pod for the same key or instance', async () => {
    const pods = await podsWith();
    const one = plan(pods);
    await pods.create(one);
    await expect(pods.create(plan(pods))).rejects.toThrow(`pod ${one.name} still exists`);
    await expect(pods.create(plan(pods, { key: 'default/other' }))).rejects.toThrow('still exists');
    await runs(pods);
    await pods.delete(one.name);
    await expect(pods.create(plan(pods))).rejects.toThrow('still exists');
    await hasEnded(pods);
    await expect(pods.create(plan(pods))).rejects.toThrow('still exists');
    await pods.delete(one.name);
    await pods.create(plan(pods));
    expect(pods.keys()).toHaveLength(1);
  });

  test('lets one of many concurrent creations succeed', async () => {
    const pods = await podsWith();
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => pods.create(plan(pods))));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(records()).toHaveLength(1);
  });

  test('never starts a pod without a record', async () => {
    const pods = await podsWith();
    // The operator writes this file before it replaces the state.
    mkdirSync(`${statePath()}.new`);
    await expect(pods.create(plan(pods))).rejects.toThrow('EISDIR');
    expect(phase(pods)).toBe('absent');
    rmdirSync(`${statePath()}.new`);
    await pods.create(plan(pods));
  });
});

test('limits concurrent starts, and never starts a pod stopped before its turn', async () => {
  // It becomes ready once the test has created the file with its name.
  const program = `const { existsSync } = require('node:fs');
    console.error(process.env.GWK_ENGINE_POD);
    setInterval(() => existsSync(process.env.GATES + process.env.GWK_ENGINE_POD) && console.log('{}'), 20);`;
  const begun = () => logs.flatMap((line) => (JSON.parse(line) as { line?: string }).line ?? []);
  const pods = await podsWith(
    {},
    {
      maxConcurrentStarts: 1,
      launch: {
        command: [process.execPath, '-e', program],
        isolation: null,
        settings: { GATES: join(folder.path, 'gate-') },
        print: () => undefined,
      },
    },
  );
  const [one, two, three] = [1, 2, 3].map((n) =>
    plan(pods, { key: `default/${n}`, instanceId: `0195a000-0000-7000-8000-00000000000${n}` }),
  ) as [PodPlan, PodPlan, PodPlan];
  for (const each of [one, two, three]) await pods.create(each);
  await pods.delete(two.name);
  await hasEnded(pods, two.key);
  expect(pods.find(two.key)).toMatchObject({ how: 'it was stopped before it started' });
  await until(() => begun().length > 0, { what: 'the first has begun' });
  expect([one, three].map(({ key }) => phase(pods, key))).toEqual(['starting', 'starting']);
  expect(begun()).toEqual([one.name]);
  writeFileSync(join(folder.path, `gate-${one.name}`), '');
  await runs(pods, one.key);
  writeFileSync(join(folder.path, `gate-${three.name}`), '');
  await runs(pods, three.key);
  expect(begun()).toEqual([one.name, three.name]);
});

test('stops all pods on close, including waiting ones, and starts no more', async () => {
  const pods = await podsWith(behaviour({ farewellMs: 50 }), { maxConcurrentStarts: 1 });
  for (const n of [1, 2, 3, 4]) {
    await pods.create(
      plan(pods, { key: `default/${n}`, instanceId: `0195a000-0000-7000-8000-00000000000${n}` }),
    );
  }
  await runs(pods, 'default/1');
  await pods.close();
  expect([1, 2, 3, 4].map((n) => phase(pods, `default/${n}`))).toEqual(Array(4).fill('ended'));
  await expect(
    pods.create(plan(pods, { key: 'default/5', instanceId: '0195a000-0000-7000-8000-000000000005' })),
  ).rejects.toThrow('stopping');
});

describe('after a killed operator', () => {
  /** A process left by a killed operator, with its record. */
  async function orphan(
    script: string,
    special: (record: PodRecord) => Partial<PodRecord> = () => ({}),
  ): Promise<ChildProcess> {
    const pods = await podsWith();
    const { name: podName, key, uid, instanceId, template } = plan(pods);
    const identity = { name: podName, key, uid, instanceId, template };
    const child = spawn(process.execPath, ['-e', script], {
      argv0: identity.name,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    strays.push(child);
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const record: PodRecord = { ...identity, version: '9.9.9', startedAt: Date.now() };
    writeFileSync(statePath(), JSON.stringify({ instances: [], pods: [{ ...record, ...special(record) }] }));
    return child;
  }

  const stays = 'console.log(1); setTimeout(() => {}, 9e5)';
  const exitsWithInput = 'console.log(1); process.stdin.on("end", () => process.exit()).resume()';

  test('reports an exited engine as ended, so that its lease can be freed', async () => {
    const child = await orphan(stays);
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    const pods = await podsWith();
    expect(pods.find(KEY)).toMatchObject({ phase: 'ended', requested: true, how: 'its operator exited' });
  });

  test('keeps the slot of an engine that is still stopping', async () => {
    const child = await orphan(exitsWithInput);
    const pods = await podsWith({}, { graceMs: 60_000 });
    expect(phase(pods)).toBe('ending');
    await expect(pods.create(plan(pods))).rejects.toThrow('still exists');
    child.stdin!.end();
    await hasEnded(pods);
  });

  test('terminates and then kills an engine that does not exit', async () => {
    await orphan('process.on("SIGTERM", () => {}); ' + stays);
    const pods = await podsWith({}, { graceMs: 300 });
    const began = Date.now();
    await hasEnded(pods);
    expect(Date.now() - began).toBeGreaterThanOrEqual(250);
  });

  test('finds a process by its name', async () => {
    const child = await orphan(exitsWithInput);
    const pods = await podsWith({}, { graceMs: 60_000 });
    expect(phase(pods)).toBe('ending');
    child.stdin!.end();
    await hasEnded(pods);
  });

  test('reports a pod without a process as ended', async () => {
    const child = await orphan(stays);
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    expect(phase(await podsWith())).toBe('ended');
  });

  test('ignores a process with another name', async () => {
    const child = await orphan(stays, ({ name }) => ({ name: `${name}-other` }));
    const pods = await podsWith({}, { graceMs: 50 });
    expect(phase(pods)).toBe('ended');
    // Long after the grace period.
    await pause(150);
    expect(child.exitCode).toBeNull();
    expect(child.signalCode).toBeNull();
  });
});

test('records a pod, finds its process by name, and removes the record with the pod', async () => {
  const pods = await podsWith();
  const one = plan(pods);
  await pods.create(one);
  await runs(pods);
  expect(records()).toMatchObject([{ name: one.name }]);
  const pid = (await findProcess(one.name))!;
  expect(await isAlive(pid, one.name)).toBe(true);
  expect(await isAlive(pid, `${one.name}-other`)).toBe(false);
  expect(await isAlive(2 ** 22 + 1, one.name)).toBe(false);
  process.kill(pid, 'SIGKILL');
  await hasEnded(pods);
  expect(pods.find(KEY)).toMatchObject({ how: 'ended by SIGKILL', requested: false });
  await pods.delete(one.name);
  expect(records()).toEqual([]);
});

import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { detectEngineIsolation, type EngineIsolation } from '@gwk/operator/cluster/local/engine-isolation';
import { launchEngine, type PodRecord } from '@gwk/operator/cluster/local/engine-process';
import { recordingLog, temporaryFolder } from '../../support/operator/folder.js';
import { ROOT } from '../../support/program.js';

/** An engine that a stranger has taken over. It prints the result of each attempt. */
const ATTACK = `
const fs = require('node:fs'), child = require('node:child_process');
const targets = JSON.parse(process.env.GWK_ENGINE_INTERNAL_URL);
const results = {};
const attempt = (name, work) => { try { work(); results[name] = 'done'; } catch (error) { results[name] = error.code ?? error.message; } };
attempt('reads the secrets', () => fs.readFileSync(targets.secrets));
attempt('reads the data of Postgres', () => fs.readdirSync(targets.postgres));
attempt('reads the environment of another process', () => fs.readFileSync('/proc/' + targets.pid + '/environ'));
attempt('writes to the application', () => fs.writeFileSync(targets.program, ''));
attempt('starts a program', () => child.execFileSync('/bin/true'));
attempt('writes its temporary folder', () => fs.writeFileSync(process.env.TMPDIR + '/file', ''));
results.uid = process.getuid();
fs.writeSync(1, JSON.stringify({ results }) + '\\n');
`;

const folder = temporaryFolder();
afterAll(() => folder.remove());
const secrets = join(folder.path, 'secrets.json');
const postgres = join(folder.path, 'postgres');
const program = join(folder.path, 'program.js');
writeFileSync(secrets, 'the secret', { mode: 0o600 });
writeFileSync(program, '');
mkdirSync(postgres, { mode: 0o700 });

const isRoot = process.getuid?.() === 0;
const NODE = process.execPath;
const record = (digit: string) => ({ name: `ins-1-${digit.repeat(10)}`, template: { logLevel: null } });

/** Runs the attack as an engine, and returns its results and the description of its exit. */
async function attack(isolation: EngineIsolation | null, digit = 'a') {
  const lines: string[] = [];
  const launch = {
    command: [NODE, '-e', ATTACK] as [string, ...string[]],
    isolation,
    settings: { GWK_ENGINE_INTERNAL_URL: JSON.stringify({ secrets, postgres, program, pid: process.pid }) },
    print: (line: string) => void lines.push(line),
  };
  const engine = launchEngine(launch, record(digit) as PodRecord, 'token', recordingLog());
  const how = await engine.ended;
  expect([how, lines.length]).toEqual(['exit code 0', 1]);
  return (JSON.parse(lines[0]!) as { results: Record<string, string | number> }).results;
}

const done = (results: Record<string, string | number>) =>
  Object.keys(results).filter((name) => results[name] === 'done');

test('without isolation, an engine reads secrets and starts programs', async () => {
  expect(done(await attack(null))).toEqual([
    'reads the secrets',
    'reads the data of Postgres',
    'reads the environment of another process',
    'writes to the application',
    'starts a program',
  ]);
});

test.each([false, isRoot])(
  'an engine writes its temporary folder only (own user: %s)',
  async (separateUsers) => {
    const results = await attack({ readable: [NODE], separateUsers });
    expect(done(results)).toEqual(['writes its temporary folder']);
  },
);

test('each engine has a user of its own if the operator is root', async () => {
  if (!isRoot) return;
  const isolation = { readable: [NODE], separateUsers: true };
  const users = [(await attack(isolation, 'a'))['uid'], (await attack(isolation, 'b'))['uid']];
  expect(users).toEqual([1_000_000_000 + 0xaaaaaaa, 1_000_000_000 + 0xbbbbbbb]);
});

test('root separates users if another user can read the application', () => {
  const command = [NODE, join(ROOT, 'bin/gwk.js'), 'engine'] as const;
  const { readable, separateUsers } = detectEngineIsolation([...command]);
  expect(readable).toContain(join(ROOT, 'engine-pod'));
  expect(readable.filter((path) => !statSync(path))).toEqual([]);
  if (isRoot) expect(separateUsers).toBe(true);
  expect(detectEngineIsolation([NODE, join(postgres, 'gwk.js')]).separateUsers).toBe(false);
});

test('an isolated engine reports its exit code', async () => {
  const script = `import(${JSON.stringify(join(ROOT, 'engine-pod/dist/exit-process.js'))}).then(({ exitProcess }) => exitProcess(13))`;
  const launch = {
    command: [NODE, '-e', script] as [string, ...string[]],
    isolation: { readable: [NODE, join(ROOT, 'engine-pod')], separateUsers: false },
    settings: {},
    print: () => undefined,
  };
  const engine = launchEngine(launch, record('c') as PodRecord, 'token', recordingLog());
  expect(await engine.ended).toBe('exit code 13');
  expect(readFileSync(secrets, 'utf8')).toBe('the secret');
});

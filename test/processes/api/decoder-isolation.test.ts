import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { buildIsolation, describeHost, type IsolationKind } from '@gwk/decoder/isolation';
import { runJobProcess } from '@gwk/decoder/job-process';
import { Samples } from '../../support/api/samples.js';
import { realTime } from '../../support/wait.js';

/** Attacks from inside a decoder process. Reports for each whether it succeeded. */
type Attacks = Record<string, string>;

const folder = mkdtempSync(join(tmpdir(), 'gwk-isolation-'));
const samples = new Samples(join(folder, 'samples'));
const secrets = join(folder, 'secrets.json');
const otherJob = join(folder, 'other-job');
const programs = join(folder, 'programs');
const hostile = join(programs, 'ffmpeg');
const servers: Server[] = [];

beforeAll(async () => {
  chmodSync(folder, 0o711);
  writeFileSync(secrets, 'the secret', { mode: 0o600 });
  mkdirSync(otherJob, { mode: 0o700 });
  writeFileSync(join(otherJob, 'input'), 'the file of another', { mode: 0o600 });
  mkdirSync(programs);
  // A stand-in for Postgres: a TCP port, and a socket that everybody may open.
  for (const address of [{ port: 0, host: '127.0.0.1' }, { path: join(folder, 'socket') }]) {
    const server = createServer((socket) => socket.end('hello')).listen(address);
    await once(server, 'listening');
    servers.push(server);
  }
  chmodSync(join(folder, 'socket'), 0o777);
});
afterAll(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true, force: true });
});

const ATTACK = `
const fs = require('node:fs'), net = require('node:net'), child = require('node:child_process');
const targets = JSON.parse(process.argv[2]);
const results = {};
const attempt = (name, work) => { try { work(); results[name] = 'done'; } catch (error) { results[name] = error.code ?? error.message; } };
attempt('reads a secret of the worker', () => fs.readFileSync(targets.secrets));
attempt('reads the file of another job', () => fs.readFileSync(targets.otherJob));
attempt('reads the environment of the worker', () => fs.readFileSync('/proc/' + targets.worker + '/environ'));
attempt('writes outside its folder', () => fs.writeFileSync(targets.outside, ''));
attempt('writes to the programs', () => fs.writeFileSync(targets.programs, ''));
attempt('signals the worker', () => process.kill(targets.worker, 0));
attempt('leaves its process group', () => child.execFileSync('/usr/bin/setsid', ['/bin/true'], { stdio: 'ignore' }));
attempt('links to a secret', () => fs.linkSync(targets.secrets, targets.folder + '/link'));
const connect = (name, address) => new Promise((resolve) => net.connect(address)
  .once('data', () => { results[name] = 'done'; resolve(); })
  .once('error', (error) => { results[name] = error.code; resolve(); }));
Promise.all([connect('opens a TCP connection', targets.port), connect('opens a Unix socket', targets.socket)])
  .then(() => fs.writeFileSync(targets.folder + '/seen', JSON.stringify(results)))
  .then(() => process.exit(1));
`;

/** Runs a decoder that attacks, and returns its results. */
async function attack(kind: IsolationKind): Promise<Attacks> {
  const job = mkdtempSync(join(folder, 'job-'));
  const input = join(job, 'input');
  writeFileSync(input, readFileSync(samples.sound('a.mp3', 1)), { mode: 0o600 });
  const targets = {
    folder: job,
    secrets,
    otherJob: join(otherJob, 'input'),
    worker: process.pid,
    outside: join(folder, `outside-${kind}`),
    programs: join(programs, `written-${kind}`),
    port: (servers[0]!.address() as { port: number }).port,
    socket: join(folder, 'socket'),
  };
  const script = join(job, 'attack.cjs');
  writeFileSync(script, ATTACK);
  // Node reads the settings of OpenSSL at its start.
  const command = `OPENSSL_CONF=/dev/null exec '${process.execPath}' '${script}' '${JSON.stringify(targets)}'`;
  writeFileSync(hostile, `#!/bin/sh\n${command}\n`, { mode: 0o755 });
  const isolation = buildIsolation(kind, describeHost(hostile));
  // The limit of memory counts reserved addresses, of which Node takes much.
  const limits = { timeMs: realTime(30_000), memoryMb: 1_000_000, ffmpeg: hostile, isolation };
  const plan = { tool: 'audio', container: 'mp3', voice: false, film: false } as const;
  const audio = { ...plan, input, output: join(job, 'output') };
  await runJobProcess(audio, job, AbortSignal.timeout(realTime(60_000)), limits);
  return JSON.parse(readFileSync(join(job, 'seen'), 'utf8')) as Attacks;
}

const done = (attacks: Attacks) => Object.keys(attacks).filter((name) => attacks[name] === 'done');
const ALL = [
  'reads a secret of the worker',
  'reads the file of another job',
  'reads the environment of the worker',
  'writes outside its folder',
  'writes to the programs',
  'signals the worker',
  'links to a secret',
  'opens a TCP connection',
  'opens a Unix socket',
  'leaves its process group',
].toSorted();

const setprivCan = (option: string) =>
  spawnSync('setpriv', ['--help'], { encoding: 'utf8' }).stdout?.includes(option) === true;
const filters = setprivCan('--seccomp-filter');

test('without isolation, a decoder that a file has taken over does everything', async () => {
  expect(done(await attack('none')).toSorted()).toEqual(ALL);
});

test('isolated by Landlock, it does nothing outside its folder', async () => {
  if (!filters) return console.warn('skipped: the setpriv of this machine has no filter of system calls');
  expect(done(await attack('landlock'))).toEqual([]);
});

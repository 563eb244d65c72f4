// node test/run.js [default|slow|all|TIER ...]: runs checks and test tiers, and prints the seconds of each. The last line
// is "N passed, N failed".
import './support/typescript.js';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { watchProcesses } from './processes.js';
import { DEFAULT_TIERS, TIERS } from './tiers.js';

const { findReasonToSkip } = await import('@gwk/test/support/servers/former-functions');
const { describeFailures, listSkipped, listSlowest, summarizeFailures } =
  await import('@gwk/test/support/report');

const CHECKS = {
  types: 'types',
  lint: 'lint',
  imports: 'lint:imports',
  format: 'format:check',
  openapi: 'lint:openapi',
  prose: 'prose',
  workflows: 'lint:workflows',
};
const SLOW_TIERS = Object.keys(TIERS).filter((name) => !DEFAULT_TIERS.includes(name));
const GROUPS = {
  default: { checks: true, tiers: DEFAULT_TIERS },
  slow: { checks: false, tiers: SLOW_TIERS },
  all: { checks: true, tiers: Object.keys(TIERS) },
};
/** Limit for output after the exit of its process. */
const OUTPUT_MS = 10_000;
const NOISE = /^(Running one project: |Loaded Prisma config)/;
const COUNTS = /(\d+) passed, (\d+) failed/g;

/** Child processes inherit it, which identifies those left behind. */
const mark = ['TEST_RUN', randomUUID()];
process.env[mark[0]] = mark[1];
const watched = watchProcesses(mark.join('='));
const folder = mkdtempSync(join(tmpdir(), 'gwk-report-'));
/** Every process of the run records there the documented answers that it has seen. */
const answers = join(folder, 'answers');
mkdirSync(answers);
process.env.GWK_TEST_ANSWERS = answers;

const totals = { passed: 0, failed: 0 };
const reports = [];
const seconds = [];
const failed = [];
const skipped = [];
const tiersWithoutWork = [];
const children = new Set();

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    for (const child of children) end(child);
    rmSync(folder, { recursive: true, force: true });
    process.exit(1);
  });
}

function say(text) {
  process.stdout.write(`${text}\n`);
}

/** Runs a command in its own process group, to kill hanging workers with it. Shows stderr at once for long builds. */
function run(command, args, env = {}) {
  return new Promise((resolve) => {
    const output = [];
    const options = { stdio: ['ignore', 'pipe', 'pipe'], detached: true, env: { ...process.env, ...env } };
    const child = spawn(command, args, options);
    children.add(child);
    child.stdout.on('data', (chunk) => NOISE.test(chunk) || output.push(chunk));
    child.stderr.on('data', (chunk) => NOISE.test(chunk) || process.stderr.write(chunk));
    child.once('error', (error) => output.push(Buffer.from(error.message)));
    let how;
    let timer;
    child.once('exit', (code, signal) => {
      how = signal ?? `code ${code}`;
      // A leftover process may hold the output open.
      timer = setTimeout(() => end(child), OUTPUT_MS);
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      children.delete(child);
      resolve({ ok: code === 0, end: how ?? 'an error', output: Buffer.concat(output).toString() });
    });
  });
}

function end({ pid }) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The whole group has exited.
  }
}

const add = (numbers) => numbers.reduce((sum, one) => sum + one, 0);

/** Milliseconds that the cores of this machine could have worked, and have worked. */
function readCores() {
  const times = cpus().map((core) => core.times);
  const all = add(times.flatMap(Object.values));
  return { all, busy: all - add(times.map(({ idle }) => idle)) };
}

/** Runs `work` and prints its result. `work` returns `failures` as lines if it failed. */
async function stage(name, work) {
  const before = { at: performance.now(), ...readCores() };
  const { ok, output = '', failures = [`  ${name}`] } = await work();
  const took = (performance.now() - before.at) / 1000;
  const { all, busy } = readCores();
  // Below about 80 %, the files of a tier wait, so that more of them could run at once.
  const share = Math.round((100 * (busy - before.busy)) / Math.max(1, all - before.all));
  seconds.push([name, took, share]);
  say(
    `${ok ? 'ok    ' : 'FAILED'} ${name.padEnd(22)} ${took.toFixed(1).padStart(6)} s  ${share} % of the cores`,
  );
  if (!ok) {
    totals.failed += failures.length;
    failed.push(...failures);
  }
  if (output.trim()) say(output.trimEnd());
  return ok;
}

const npm = (name, script) =>
  stage(name, async () => {
    const done = await run('npm', ['run', '--silent', script]);
    return { ...done, output: done.ok ? '' : done.output };
  });

async function checks() {
  for (const [name, script] of Object.entries(CHECKS)) await npm(name, script);
}

const tier = (name) =>
  stage(name, async () => {
    const reason = name === 'upgrade' ? findReasonToSkip() : null;
    if (reason !== null) return skip(name, reason);
    return TIERS[name].command === undefined ? runJest(name) : runProgram(name);
  });

function skip(name, reason) {
  skipped.push(`${name}: ${reason}`);
  tiersWithoutWork.push(name);
  return { ok: true, output: `  skipped: ${reason}` };
}

async function runJest(name) {
  const file = join(folder, `${name}.json`);
  const args = ['--selectProjects', name, `--maxWorkers=${TIERS[name].workers}`];
  const reporter = '--reporters=<rootDir>/test/support/reporter.js';
  const command = ['node_modules/jest/bin/jest.js', ...args, reporter];
  const done = await run(process.execPath, command, { GWK_TEST_REPORT: file });
  let report;
  try {
    report = { tier: name, ...JSON.parse(readFileSync(file, 'utf8')) };
  } catch {
    return { ...done, ok: false, failures: [`  ${name}: ended with ${done.end}`] };
  }
  reports.push(report);
  totals.passed += report.passed;
  const output = [describeFailures(report), done.output.trim(), `  ${report.passed} passed`].filter(Boolean);
  const failures = [...summarizeFailures(report), ...uncaughtErrors(file, name)];
  if (failures.length === 0 && !done.ok) failures.push(`  ${name}: ended with ${done.end}`);
  return { ok: failures.length === 0, output: output.join('\n'), failures };
}

/** Uncaught errors (typescript.js), including those after the last test of a worker. */
function uncaughtErrors(report, name) {
  const file = `${report}.errors`;
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.map((line) => `  ${name}: uncaught: ${line}`);
}

const linesOf = (text, pattern) => text.split('\n').filter((line) => pattern.test(line));

/** Runs a tier that is a program. Its last line contains the counts. */
async function runProgram(name) {
  const done = await run(process.execPath, [TIERS[name].command]);
  const [, passed = 0, failures = 0] = [...done.output.matchAll(COUNTS)].at(-1) ?? [];
  totals.passed += Number(passed);
  skipped.push(...linesOf(done.output, /skipped: /));
  const named = linesOf(done.output, /^FAILED /).map((line) => `  ${name}: ${line.slice(7)}`);
  const ok = done.ok && Number(failures) === 0;
  return { ...done, ok, failures: named.length > 0 ? named : [`  ${name}: ended with ${done.end}`] };
}

async function checkLeftovers() {
  await stage('no process left behind', async () => {
    const left = await watched.leftBehind();
    return {
      ok: left.length === 0,
      output: left.map(({ pid, command }) => `  ${pid} ${command}`).join('\n'),
    };
  });
}

function section(title, lines) {
  if (lines.length > 0) say([`${title}:`, ...lines].join('\n'));
}

function summarize() {
  section('Slowest files', listSlowest(reports));
  section('Skipped', [...listSkipped(reports), ...skipped.map((line) => `  ${line}`)]);
  section(
    'Seconds',
    seconds.map(
      ([name, took, share]) => `  ${took.toFixed(1).padStart(6)} s  ${String(share).padStart(3)} %  ${name}`,
    ),
  );
  section('Failed', failed);
  say(`${totals.passed} passed, ${totals.failed} failed`);
  const isExpected = totals.passed > 0 || group.tiers.every((name) => tiersWithoutWork.includes(name));
  process.exitCode = totals.failed === 0 && isExpected ? 0 : 1;
}

async function main(group) {
  const tiers = [...group.tiers];
  if ((await npm('prisma client', 'prisma:generate')) && (await npm('build', 'build'))) {
    // The first tiers leave a core idle at times, and their tests do not measure time.
    const early = group.checks ? tiers.splice(0, 2) : [];
    await Promise.all([
      group.checks && checks(),
      early.reduce((before, name) => before.then(() => tier(name)), Promise.resolve()),
    ]);
    for (const name of tiers) {
      await tier(name);
      if (name === DEFAULT_TIERS.at(-1) && DEFAULT_TIERS.every((one) => group.tiers.includes(one))) {
        await stage('documented answers', () =>
          run(process.execPath, ['test/documented-answers.js', answers]),
        );
      }
    }
  }
  await checkLeftovers();
  rmSync(folder, { recursive: true, force: true });
  summarize();
}

const names = process.argv.slice(2);
const group = GROUPS[names[0] ?? 'default'] ?? { checks: false, tiers: names };
const unknown = group.tiers.filter((name) => TIERS[name] === undefined);
if (unknown.length > 0) {
  say(
    `no such tier: ${unknown.join(', ')}. Tiers: ${Object.keys(TIERS).join(', ')}; groups: ${Object.keys(GROUPS).join(', ')}`,
  );
  process.exit(2);
}
await main(group);

// make test: every check and every suite, with seconds for each, closed by one line "N passed, N failed".
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { watchProcesses } from './processes.js';

const STAGE_LIMIT_MS = 40 * 60_000;
const EXIT_LIMIT_MS = 15_000;
const JEST = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  'node_modules/jest/bin/jest.js',
];
/** What judges times, or a number in chaos: beside other suites they would judge the machine. */
const ALONE = 'src/(number/chaos|lanes|outages).test';
const UNIT_PROJECTS = ['core', 'api', 'operator', 'engine-pod', 'local'];

const mark = ['TEST_RUN', randomUUID()];
process.env[mark[0]] = mark[1];
const watched = watchProcesses(mark.join('='));
const reports = mkdtempSync(join(tmpdir(), 'gwk-reports-'));
// Where every process of the run tells which answers of the interface it has seen.
const sightings = join(reports, 'sightings');
mkdirSync(sightings);
process.env.GWK_TEST_SIGHTINGS = sightings;
const totals = { passed: 0, failed: 0 };
/** One line for each thing that failed, said again at the end. */
const whatFailed = [];
const children = new Set();

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    // The servers end with this process.
    for (const child of children) child.kill('SIGTERM');
    rmSync(reports, { recursive: true, force: true });
    process.exit(1);
  });
}

function say(text) {
  process.stdout.write(`${text}\n`);
}

/** @param report a file whose appearance means that the work is done: what runs on then is ended */
function run(command, args, report) {
  return new Promise((resolve) => {
    const output = [];
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: STAGE_LIMIT_MS });
    children.add(child);
    const ending = report && endOnceWritten(child, report, output);
    child.stdout.on('data', (chunk) => output.push(chunk));
    child.stderr.on('data', (chunk) => output.push(chunk));
    child.once('error', (error) => output.push(Buffer.from(error.message)));
    child.once('close', (code, signal) => {
      children.delete(child);
      clearInterval(ending);
      resolve({ ok: code === 0, end: signal ?? `code ${code}`, output: Buffer.concat(output).toString() });
    });
  });
}

function endOnceWritten(child, report, output) {
  let since;
  return setInterval(() => {
    if (!existsSync(report)) return;
    since ??= Date.now();
    if (Date.now() - since < EXIT_LIMIT_MS) return;
    output.push(
      Buffer.from('\nThe tests are over and something they left open keeps their process alive.\n'),
    );
    child.kill('SIGKILL');
  }, 1000);
}

/** A stage that fails counts as one failure, unless it counts its own. */
async function stage(name, work) {
  const began = performance.now();
  const { ok, output, failures = 1, inShort } = await work();
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  say(`${ok ? 'ok    ' : 'FAILED'} ${name.padEnd(24)} ${seconds.padStart(6)} s`);
  if (!ok) {
    totals.failed += failures;
    whatFailed.push(...(inShort ?? [`  ${name}`]));
  }
  if (output.trim()) say(output.trimEnd());
  return ok;
}

const check = (name, script) => stage(name, () => run('npm', ['run', '--silent', script]));

function suite(name, args) {
  return stage(name, async () => {
    const file = join(reports, `${name}.json`);
    const command = [...JEST, ...args, '--json', `--outputFile=${file}`];
    const done = await run(process.execPath, command, file);
    const telling = await import('./support/report.js');
    let report;
    try {
      report = JSON.parse(readFileSync(file, 'utf8'));
    } catch {
      return { ok: false, ...endedBadly(name, done, telling) };
    }
    return { ok: done.ok && failed(report) === 0, ...judged(name, { report, done }, telling) };
  });
}

function failed(report) {
  // A file that could not be loaded has no tests to count, a run that ended badly may have counted none.
  return report.numFailedTests + report.numRuntimeErrorTestSuites;
}

/** Of a run that tells of no test that failed, and failed. */
function endedBadly(name, done, { withoutNoise }) {
  const output = withoutNoise(done.output);
  return { output, inShort: [`  ${name}: ended with ${done.end}: ${output.slice(-500)}`] };
}

/** What failed stands first, whole; then what the tests printed; where nothing failed the sums are enough. */
function judged(name, { report, done }, telling) {
  totals.passed += report.numPassedTests;
  const found = telling.failures(report, process.cwd());
  if (found.length === 0 && !done.ok) return endedBadly(name, done, telling);
  const skipped =
    report.numPendingTests > 0 ? [`  ${report.numPendingTests} skipped: ${reasons(report)}`] : [];
  return {
    failures: Math.max(failed(report), 1),
    output: [...found.map(telling.told), telling.withoutNoise(done.output), ...skipped].join('\n'),
    inShort: found.map(telling.inShort),
  };
}

/** Null where the programs of Kubernetes are not to be had: then its suites skip themselves, or fail where CI=true. */
async function kubernetesIfPossible() {
  const { ensureBinaries } = await import('./support/kubernetes/binaries.js');
  let cluster = null;
  await stage('kubernetes', async () => {
    const { ensureHelm } = await import('./support/chart/helm-binary.js');
    const { ensureDefinitions } = await import('./support/chart/definitions.js');
    const found = await ensureBinaries(say);
    // Where it is not to be had, the suites of the chart say so themselves.
    await ensureHelm(say);
    ensureDefinitions(say);
    if ('missing' in found) {
      const required = process.env.CI === 'true';
      return {
        ok: !required,
        output: `  ${found.missing}\n  The suites that need Kubernetes ${required ? 'fail' : 'are skipped'}.`,
      };
    }
    const { TestCluster, KUBERNETES_VARIABLE } = await import('./support/kubernetes/test-cluster.js');
    cluster = await TestCluster.start();
    process.env[KUBERNETES_VARIABLE] = JSON.stringify(cluster.plane);
    return { ok: true, output: '' };
  });
  return cluster;
}

/** What was left out stands in the titles of its groups. */
function reasons(report) {
  const pending = report.testResults.flatMap(({ assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'pending')
      .map(({ ancestorTitles }) => ancestorTitles[0]),
  );
  return [...new Set(pending)].join('; ');
}

async function withServers(work) {
  const { startSharedServers } = await import('./support/servers/shared.js');
  const servers = await startSharedServers();
  const cluster = await kubernetesIfPossible();
  try {
    await work();
  } finally {
    await cluster?.stop();
    await servers.stop();
  }
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

async function main() {
  const built = (await check('prisma client', 'prisma:generate')) && (await check('build', 'build'));
  if (built) {
    await withServers(async () => {
      // The checks take one core for a short while; the suites beside them are not timed by the clock.
      await Promise.all([
        check('types', 'types')
          .then(() => check('lint', 'lint'))
          .then(() => check('format', 'format:check'))
          .then(() => check('openapi', 'lint:openapi')),
        suite('unit tests', ['--selectProjects', ...UNIT_PROJECTS, '--maxWorkers=2']),
        // Needs none of the servers. Its proof with an independent client is built with Go where there is one.
        suite('simulated network', ['--selectProjects', 'network', '--maxWorkers=1']),
      ]);
      const whole = ['--selectProjects', 'test'];
      await suite('end-to-end tests', [...whole, '--maxWorkers=2', '--testPathIgnorePatterns', ALONE]);
      await suite('alone on the machine', [...whole, '--maxWorkers=1', '--testPathPatterns', ALONE]);
    });
    await stage('every answer produced', () => run(process.execPath, ['test/sightings.js', sightings]));
  }
  await checkLeftovers();
  rmSync(reports, { recursive: true, force: true });
  if (whatFailed.length > 0) say(['What failed:', ...whatFailed].join('\n'));
  say(`${totals.passed} passed, ${totals.failed} failed`);
  process.exitCode = totals.failed === 0 && totals.passed > 0 ? 0 : 1;
}

await main().catch((error) => {
  say(`FAILED ${error.stack}`);
  say(`${totals.passed} passed, ${totals.failed + 1} failed`);
  process.exitCode = 1;
});

// Jest reporter. It writes the report for test/run.js and ends a run that hangs.
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';

/** File for the report (report.ts: Report). */
const FILE = process.env.GWK_TEST_REPORT;
/** No test file takes this long on any machine. Tests have no timeouts of their own: jest-light-runner has none. */
const HANG_MS = 15 * 60_000 * Number(process.env.GWK_TEST_TIME_FACTOR ?? 1);
const LOOK_MS = 5000;

export default class Reporter {
  #root;
  #started = new Map();
  #files = [];
  #passed = 0;
  #moved = Date.now();
  #timer;

  constructor(globalConfig) {
    this.#root = globalConfig.rootDir;
  }

  onRunStart() {
    this.#timer = setInterval(() => this.#endIfHanging(), LOOK_MS);
  }

  onTestFileStart({ path }) {
    this.#started.set(path, performance.now());
  }

  onTestFileResult({ path }, result) {
    this.#moved = Date.now();
    this.#passed += result.numPassingTests;
    this.#add(path, outcomes(result));
  }

  onRunComplete() {
    clearInterval(this.#timer);
    this.#write();
  }

  #add(path, found) {
    const seconds = (performance.now() - this.#started.get(path)) / 1000;
    this.#started.delete(path);
    this.#files.push({ path: relative(this.#root, path), seconds, ...found });
  }

  #write() {
    if (FILE !== undefined) writeFileSync(FILE, JSON.stringify({ passed: this.#passed, files: this.#files }));
  }

  /** The report names the files that hang, and contains the failures of those that have ended. */
  #endIfHanging() {
    if (Date.now() - this.#moved < HANG_MS) return;
    const message = `no test file has finished for ${HANG_MS / 60_000} minutes`;
    for (const path of [...this.#started.keys()])
      this.#add(path, { failures: [{ name: 'hangs', message }], skipped: [] });
    this.#write();
    process.exit(1);
  }
}

function outcomes({ testResults, testExecError, failureMessage }) {
  const name = ({ ancestorTitles, title }) => [...ancestorTitles, title].join(' > ');
  const failures = testResults
    .filter(({ status }) => status === 'failed')
    // The runner repeats the test name in the first line of its message.
    .map((test) => ({ name: name(test), message: test.failureMessages.join('\n').replace(/^.*\n/, '') }));
  if (failures.length === 0 && (testExecError || failureMessage)) {
    failures.push({ name: 'could not be run', message: failureMessage || testExecError.message });
  }
  return { failures, skipped: testResults.filter(({ status }) => status === 'pending').map(name) };
}

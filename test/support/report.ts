// What a run of jest is worth telling: what failed first and whole, what passed by its number.

/** Lines of jest that tell nothing to who reads the end of a long output. */
const NOISE =
  /^(PASS |Running \d+ projects?:$|- [a-z-]+$|Ran all test suites|Test results written to|Snapshots: +0 total$|\{"num.*\}$)/;
const MESSAGE_LINES = 25;
const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

export interface Failure {
  /** Below the root of the project. */
  file: string;
  /** The whole name of the test. */
  name: string;
  message: string;
}

/** What is read of `jest --json`. */
export interface JestReport {
  testResults: {
    name: string;
    message: string;
    status: string;
    assertionResults: { fullName: string; status: string; failureMessages: string[] }[];
  }[];
}

/** Every test that failed, and every file that could not be run. */
export function failures(report: JestReport, root: string): Failure[] {
  return report.testResults.flatMap(({ name: path, message, status, assertionResults }) => {
    const file = path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
    const failed = assertionResults.filter((test) => test.status === 'failed');
    if (failed.length > 0) {
      return failed.map(({ fullName, failureMessages }) => ({
        file,
        name: fullName,
        message: plain(failureMessages.join('\n')),
      }));
    }
    return status === 'failed' ? [{ file, name: 'could not be run', message: plain(message) }] : [];
  });
}

/** Without colours, and without the places in which the machinery of tests was. */
function plain(text: string): string {
  const lines = text.replace(ESCAPES, '').trim().split('\n');
  return lines.filter((line) => !/^\s+at .*(node_modules|node:internal)/.test(line)).join('\n');
}

/** One failure as it is told in its place: where, what, and the beginning of why. */
export function told({ file, name, message }: Failure) {
  const lines = message.split('\n');
  const rest = lines.length > MESSAGE_LINES ? [`... ${lines.length - MESSAGE_LINES} more lines`] : [];
  return [
    `  ${file}: ${name}`,
    ...[...lines.slice(0, MESSAGE_LINES), ...rest].map((line) => `    ${line}`),
  ].join('\n');
}

/** One failure in one line, for the end of everything. */
export function inShort({ file, name, message }: Failure) {
  const why = message.split('\n').find((line) => line.trim() !== '');
  return `  ${file}: ${name}: ${(why ?? '').trim().slice(0, 200)}`;
}

/** What jest printed without its noise; of failures nothing, where the report tells them. */
export function withoutNoise(output: string) {
  return output
    .split('\n')
    .filter((line) => !NOISE.test(line.replace(ESCAPES, '')))
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

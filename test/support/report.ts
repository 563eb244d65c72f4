// Report of a test run: pure functions from the reporter's data to lines of text.

/** One tier of a run, as written by test/support/reporter.js. */
export interface Report {
  tier: string;
  /** Tests that passed. */
  passed: number;
  files: TestFile[];
}

export interface TestFile {
  /** Path below the repository root. */
  path: string;
  /** From the import of the file to the end of its last test. */
  seconds: number;
  failures: { name: string; message: string }[];
  /** Names of tests, or of groups of tests, that were skipped. The name of such a group ends with its reason. */
  skipped: string[];
}

const MESSAGE_LINES = 25;
const SLOWEST = 10;
const SUMMARY_CHARACTERS = 200;
const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

export const countFailures = ({ files }: Report): number =>
  files.reduce((sum, { failures }) => sum + failures.length, 0);

/** Each failed test with the start of its message, without colours and library stack frames. */
export function describeFailures({ files }: Report): string {
  return eachFailure(files, (path, { name, message }) => {
    const lines = plain(message).split('\n');
    const rest = lines.length > MESSAGE_LINES ? [`... ${lines.length - MESSAGE_LINES} more lines`] : [];
    const shown = [...lines.slice(0, MESSAGE_LINES), ...rest].map((line) => `    ${line}`);
    return [`  ${path}: ${name}`, ...shown].join('\n');
  }).join('\n');
}

/** Each failed test in one line. */
export function summarizeFailures({ files }: Report): string[] {
  return eachFailure(files, (path, { name, message }) => {
    const why = plain(message)
      .split('\n')
      .find((line) => line.trim() !== '');
    return `  ${path}: ${name}: ${(why ?? '').trim().slice(0, SUMMARY_CHARACTERS)}`;
  });
}

/** The ten slowest files of each tier. */
export function listSlowest(reports: readonly Report[]): string[] {
  return reports.flatMap(({ tier, files }) => {
    const slowest = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
    return [
      `  ${tier}`,
      ...slowest.map(({ path, seconds }) => `  ${seconds.toFixed(1).padStart(6)} s  ${path}`),
    ];
  });
}

/** Skipped tests with their reasons. */
export function listSkipped(reports: readonly Report[]): string[] {
  return reports.flatMap(({ files }) =>
    files.flatMap(({ path, skipped }) => skipped.map((name) => `  ${path}: ${name}`)),
  );
}

function eachFailure<T>(
  files: readonly TestFile[],
  show: (path: string, failure: TestFile['failures'][number]) => T,
): T[] {
  return files.flatMap(({ path, failures }) => failures.map((failure) => show(path, failure)));
}

function plain(text: string): string {
  const lines = text.replace(ESCAPES, '').trim().split('\n');
  return lines.filter((line) => !/^\s+at .*(node_modules|node:internal)/.test(line)).join('\n');
}

import { type JestReport, failures, inShort, told, withoutNoise } from './report.js';

const passed = { fullName: 'a send is sent', status: 'passed', failureMessages: [] };
const failed = {
  fullName: 'a send is sent once',
  status: 'failed',
  failureMessages: [
    '\u001b[31mError: twice\u001b[39m\n    at send.test.ts:3\n    at run (/root/house/node_modules/jest/run.js:1)',
  ],
};
type File = JestReport['testResults'][number];

const file = (assertionResults: File['assertionResults'], more: Partial<File> = {}): File => ({
  name: '/root/house/api/src/send.test.ts',
  message: '',
  status: 'passed',
  assertionResults,
  ...more,
});
const report = (...testResults: File[]): JestReport => ({ testResults });

describe('What is told of a run', () => {
  test('a run in which everything passed has no failures', () => {
    expect(failures(report(file([passed])), '/root/house')).toEqual([]);
  });

  test('a test that failed is told with its file below the root, its whole name and its message without colours and machinery', () => {
    expect(failures(report(file([passed, failed], { status: 'failed' })), '/root/house')).toEqual([
      {
        file: 'api/src/send.test.ts',
        name: 'a send is sent once',
        message: 'Error: twice\n    at send.test.ts:3',
      },
    ]);
  });

  test('a file that could not be run is a failure of its own', () => {
    const broken = file([], { status: 'failed', message: 'Cannot find module' });
    expect(failures(report(broken), '/root/house')).toEqual([
      { file: 'api/src/send.test.ts', name: 'could not be run', message: 'Cannot find module' },
    ]);
  });

  test('a long message is cut, and says by how much', () => {
    const message = Array.from({ length: 40 }, (_, line) => `line ${line}`).join('\n');
    const lines = told({ file: 'a', name: 'b', message }).split('\n');
    expect(lines).toHaveLength(27);
    expect(lines.at(-1)).toBe('    ... 15 more lines');
  });

  test('at the end a failure has one line', () => {
    expect(inShort({ file: 'a.test.ts', name: 'b', message: '\n  Error: twice\n  at c' })).toBe(
      '  a.test.ts: b: Error: twice',
    );
  });

  test('of what jest printed, files that passed and its own report are left out, what a test printed stays', () => {
    const output = [
      'Running 2 projects:',
      '- api',
      'PASS api api/src/send.test.ts',
      '1,000 accepted, 1,000 left',
      'Snapshots:   0 total',
      'Tests:       3 passed, 3 total',
      '{"numFailedTestSuites":0}',
    ].join('\n');
    expect(withoutNoise(output)).toBe('1,000 accepted, 1,000 left\nTests:       3 passed, 3 total');
  });
});

import {
  countFailures,
  describeFailures,
  listSkipped,
  listSlowest,
  summarizeFailures,
  type Report,
  type TestFile,
} from './report.js';

const failure = {
  name: 'messages > sends a message once',
  message:
    '\u001b[31mError: twice\u001b[39m\n    at send.test.ts:3\n    at run (/a/node_modules/jest/run.js:1)',
};
const file = (given: Partial<TestFile> = {}): TestFile => ({
  ...{ path: 'api/src/send.test.ts', seconds: 1, failures: [], skipped: [] },
  ...given,
});
const report = (...files: TestFile[]): Report => ({ tier: 'load', passed: 1, files });

test('a run without failures describes none', () => {
  const passed = report(file());
  expect([countFailures(passed), describeFailures(passed), summarizeFailures(passed)]).toEqual([0, '', []]);
});

test('describes a failure by file, name and message, without colours and library frames', () => {
  expect(describeFailures(report(file({ failures: [failure] })))).toBe(
    [
      '  api/src/send.test.ts: messages > sends a message once',
      '    Error: twice',
      '        at send.test.ts:3',
    ].join('\n'),
  );
});

test('cuts a long message and states by how many lines', () => {
  const message = Array.from({ length: 40 }, (_, line) => `line ${line}`).join('\n');
  const lines = describeFailures(report(file({ failures: [{ name: 'b', message }] }))).split('\n');
  expect(lines).toHaveLength(27);
  expect(lines.at(-1)).toBe('    ... 15 more lines');
});

test('summarizes a failure in one line', () => {
  expect(summarizeFailures(report(file({ failures: [failure] })))).toEqual([
    '  api/src/send.test.ts: messages > sends a message once: Error: twice',
  ]);
});

test('lists the ten slowest files of each tier, the slowest first', () => {
  const files = Array.from({ length: 12 }, (_, at) => file({ path: `${at}.test.ts`, seconds: at }));
  const lines = listSlowest([report(...files), { ...report(file({ path: 'slow.test.ts' })), tier: 'chaos' }]);
  expect(lines).toHaveLength(13);
  expect(lines.slice(0, 2)).toEqual(['  load', '    11.0 s  11.test.ts']);
  expect(lines.slice(-3)).toEqual(['     2.0 s  2.test.ts', '  chaos', '     1.0 s  slow.test.ts']);
});

test('lists what was skipped with its reason', () => {
  expect(listSkipped([report(file({ skipped: ['the chart (helm is not installed)'] }))])).toEqual([
    '  api/src/send.test.ts: the chart (helm is not installed)',
  ]);
});

/** Plain JavaScript without declarations. */
const JUDGE: string = '../../scripts/audit/judge.js';

const { judgeNpm, judgeScan, sumUp } = (await import(JUDGE)) as {
  judgeNpm: (text: string) => { verdict: string; why?: string };
  judgeScan: (done: { status: number | null; stdout: string; stderr: string }) => { verdict: string };
  sumUp: (verdicts: string[]) => { code: number; line: string };
};
const report = (total: number, vulnerabilities = {}) =>
  JSON.stringify({ metadata: { vulnerabilities: { total } }, vulnerabilities });

test.each([
  ['a report without findings', report(0), 'nothing found'],
  [
    'a report with one',
    report(1, { a: { name: 'a', severity: 'high', range: '<2', fixAvailable: true } }),
    'found',
  ],
  ['no network', JSON.stringify({ error: { code: 'ENOTFOUND', summary: 'getaddrinfo' } }), 'not reached'],
  ['a registry without audits', JSON.stringify({ message: '404 Not Found' }), 'not reached'],
  ['an answer of a proxy', '<html>', 'not reached'],
  ['nothing', '', 'not reached'],
  ['an empty object', '{}', 'not reached'],
])('%s', (_sentence, text, verdict) => {
  expect(judgeNpm(text).verdict).toBe(verdict);
});

test.each([
  ['a scanner that ends well', 0, '', 'nothing found'],
  ['one that lists a vulnerability', 1, 'openssl  3.0.1  CVE-2026-1  HIGH', 'found'],
  ['one of another list', 1, 'tar  GHSA-aaaa-bbbb-cccc  high', 'found'],
  ['one that cannot read the image', 1, 'unable to open: no manifest', 'not reached'],
  ['one without its database', 1, 'failed to download vulnerability DB', 'not reached'],
  ['one that took too long', null, '', 'not reached'],
])('%s', (_sentence, status, said, verdict) => {
  expect(judgeScan({ status, stdout: said, stderr: '' }).verdict).toBe(verdict);
  expect(judgeScan({ status, stdout: '', stderr: said }).verdict).toBe(verdict);
});

test.each<[string[], number]>([
  [['nothing found', 'nothing found'], 0],
  [['nothing found', 'found', 'not reached'], 1],
  [['nothing found', 'not reached'], 3],
  [['not reached'], 3],
  [[], 3],
])('%j ends with %d', (verdicts, code) => {
  expect(sumUp(verdicts).code).toBe(code);
});

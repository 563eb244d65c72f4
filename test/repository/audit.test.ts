/** Plain JavaScript without declarations. */
const JUDGE: string = '../../scripts/audit/judge.js';

const { judgeNpm, judgeScan, sumUp } = (await import(JUDGE)) as {
  judgeNpm: (text: string) => { result: string; why?: string };
  judgeScan: (done: { status: number | null; stdout: string; stderr: string }) => { result: string };
  sumUp: (results: string[]) => { code: number; line: string };
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
  ['no network', JSON.stringify({ error: { code: 'ENOTFOUND', summary: 'getaddrinfo' } }), 'not scanned'],
  ['a registry without audits', JSON.stringify({ message: '404 Not Found' }), 'not scanned'],
  ['an answer of a proxy', '<html>', 'not scanned'],
  ['nothing', '', 'not scanned'],
  ['an empty object', '{}', 'not scanned'],
])('%s', (_sentence, text, result) => {
  expect(judgeNpm(text).result).toBe(result);
});

test.each([
  ['a scanner that ends well', 0, '', 'nothing found'],
  ['one that lists a vulnerability', 1, 'openssl  3.0.1  CVE-2026-1  HIGH', 'found'],
  ['one of another list', 1, 'tar  GHSA-aaaa-bbbb-cccc  high', 'found'],
  ['one that cannot read the image', 1, 'unable to open: no manifest', 'not scanned'],
  ['one without its database', 1, 'failed to download vulnerability DB', 'not scanned'],
  ['one that took too long', null, '', 'not scanned'],
])('%s', (_sentence, status, said, result) => {
  expect(judgeScan({ status, stdout: said, stderr: '' }).result).toBe(result);
  expect(judgeScan({ status, stdout: '', stderr: said }).result).toBe(result);
});

test.each<[string[], number]>([
  [['nothing found', 'nothing found'], 0],
  [['nothing found', 'found', 'not scanned'], 1],
  [['nothing found', 'not scanned'], 3],
  [['not scanned'], 3],
  [[], 3],
])('%j ends with %d', (results, code) => {
  expect(sumUp(results).code).toBe(code);
});

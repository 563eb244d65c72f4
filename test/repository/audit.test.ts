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
  ['npm: an empty report is no finding', report(0), 'nothing found'],
  [
    'npm: a report with one vulnerability is a finding',
    report(1, { a: { name: 'a', severity: 'high', range: '<2', fixAvailable: true } }),
    'found',
  ],
  [
    'npm: a network error counts as not scanned',
    JSON.stringify({ error: { code: 'ENOTFOUND', summary: 'getaddrinfo' } }),
    'not scanned',
  ],
  [
    'npm: a registry without audits counts as not scanned',
    JSON.stringify({ message: '404 Not Found' }),
    'not scanned',
  ],
  ['npm: a proxy page counts as not scanned', '<html>', 'not scanned'],
  ['npm: empty output counts as not scanned', '', 'not scanned'],
  ['npm: an empty object counts as not scanned', '{}', 'not scanned'],
])('%s', (_sentence, text, result) => {
  expect(judgeNpm(text).result).toBe(result);
});

test.each([
  ['scanner: exit code 0 is no finding', 0, '', 'nothing found'],
  ['scanner: a listed CVE is a finding', 1, 'openssl  3.0.1  CVE-2026-1  HIGH', 'found'],
  ['scanner: a listed GHSA is a finding', 1, 'tar  GHSA-aaaa-bbbb-cccc  high', 'found'],
  ['scanner: an unreadable image counts as not scanned', 1, 'unable to open: no manifest', 'not scanned'],
  [
    'scanner: a missing database counts as not scanned',
    1,
    'failed to download vulnerability DB',
    'not scanned',
  ],
  ['scanner: a timeout counts as not scanned', null, '', 'not scanned'],
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
])('results %j exit with code %d', (results, code) => {
  expect(sumUp(results).code).toBe(code);
});

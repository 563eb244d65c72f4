import { unzipSync } from 'fflate';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeReportFile } from '../run.js';
import { Collector } from './collect.js';

test('folders whose names are redacted to the same keep their files', () => {
  const collector = new Collector({ included: [], names: [] });
  for (const number of ['5511987654321', '5511987654322']) {
    collector.add(`instances/shops/${number}/status.txt`, `${number} of the first`);
    collector.addJson(`instances/shops/${number}/status.json`, { level: 'ok' });
  }
  expect(collector.has('instances/shops/5511987654322/status.txt')).toBe(true);
  expect(collector.has('instances/shops/5511987654322/pod.json')).toBe(false);
  expect(Object.keys(unzipSync(collector.zip(new Date()))).sort()).toEqual([
    'instances/shops/[number]-2/status.json',
    'instances/shops/[number]-2/status.txt',
    'instances/shops/[number]/status.json',
    'instances/shops/[number]/status.txt',
  ]);
});

test('a report is for its owner alone, and replaces no file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-report-'));
  try {
    const path = join(folder, 'report.zip');
    writeReportFile(path, new Uint8Array([1]));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(() => writeReportFile(path, new Uint8Array([2]))).toThrow(/exists/);
    expect([...readFileSync(path)]).toEqual([1]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

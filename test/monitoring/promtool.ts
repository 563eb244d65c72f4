import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { neededPrograms } from '../support/prometheus/programs.js';

/** @returns 'well', or what promtool complains of */
export function promtool(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(neededPrograms().promtool, args, { encoding: 'utf8' });
  return status === 0 ? 'well' : stdout + stderr;
}

/** What `promtool test rules` says of tests in its notation. @param rules a file of theirs, or what is in one */
export function judged(tests: object[], rules?: string | object): string {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-rules-'));
  try {
    const own = join(folder, 'rules.yaml');
    if (typeof rules === 'object') writeFileSync(own, stringify(rules));
    const rule_files = rules === undefined ? [] : [typeof rules === 'object' ? own : rules];
    const file = join(folder, 'tests.yaml');
    writeFileSync(file, stringify({ rule_files, evaluation_interval: '1m', tests }));
    return promtool('test', 'rules', file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

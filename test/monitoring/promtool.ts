import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { neededPrograms } from '../support/prometheus/programs.js';

/** @returns 'ok', or the error output of promtool */
export function promtool(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(neededPrograms().promtool, args, { encoding: 'utf8' });
  return status === 0 ? 'ok' : stdout + stderr;
}

/** Runs `promtool test rules`. @param rules path of a rule file, or its content @returns 'ok', or its error output */
export function runRuleTests(tests: object[], rules?: string | object): string {
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

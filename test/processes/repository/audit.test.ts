import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../support/program.js';

test('without a registry, make audit reports it and does not pass', () => {
  const home = mkdtempSync(join(tmpdir(), 'gwk-audit-'));
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    npm_config_registry: 'http://127.0.0.1:1/',
    npm_config_fetch_retries: '0',
  };
  const done = spawnSync('make', ['audit'], { cwd: ROOT, env, encoding: 'utf8' });
  rmSync(home, { recursive: true, force: true });
  expect(done.stderr).toContain('audit endpoint returned an error');
  expect(done.status).not.toBe(0);
});

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { baseEnvironment, GWK, ROOT } from '../../support/program.js';

test('docs/cli.md lists all commands as `gwk --help` prints them', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [GWK, '--help'], { env: baseEnvironment() });
  expect(readFileSync(join(ROOT, 'docs/cli.md'), 'utf8')).toContain(`\n\`\`\`text\n${stdout}\`\`\`\n`);
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/program.js';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

test('docs/server-cli.md reads secrets and settings that exist', () => {
  const page = read('docs/server-cli.md');
  const secrets = [...page.matchAll(/secrets\.json'\)\.(\w+)/g)].map(([, name]) => name!);
  expect(secrets.length).toBeGreaterThan(1);
  const stored = read('local/src/supervisor/secrets.ts');
  expect(secrets.filter((name) => !stored.includes(`${name}:`))).toEqual([]);
  const settings = page.match(/\bGWK_[A-Z_]+\b/g)!.filter((name) => name !== 'GWK_ACTOR');
  const known = read('docs/configuration.md');
  expect(settings.filter((name) => !known.includes(`\`${name}\``))).toEqual([]);
});

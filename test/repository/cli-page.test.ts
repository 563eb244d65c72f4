import { readdirSync, readFileSync } from 'node:fs';
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

test('runbooks that inspect Instances begin with kubectl gwk status', () => {
  const folder = join(ROOT, 'docs/runbooks');
  const diagnoses = readdirSync(folder).flatMap((file) => {
    const [, diagnosis] = /^## Diagnosis\n(.*?)^## /ms.exec(readFileSync(join(folder, file), 'utf8')) ?? [];
    return /gwi (<name>|-A -o)/.test(diagnosis ?? '') ? [[file, diagnosis!] as const] : [];
  });
  expect(diagnoses.length).toBeGreaterThan(5);
  for (const [file, diagnosis] of diagnoses)
    expect([file, /^```sh\n(.*)$/m.exec(diagnosis)![1]]).toEqual([
      file,
      expect.stringMatching(/^kubectl gwk status (-A|<name> -n <namespace>) /),
    ]);
});

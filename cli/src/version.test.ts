import { readFileSync } from 'node:fs';
import { VERSION } from './version.js';

test('the program has the version of its package', () => {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  expect(VERSION).toBe(manifest.version);
});

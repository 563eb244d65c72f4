import { readFileSync } from 'node:fs';
import { configurationReference } from './reference.js';

test('docs/configuration.md says what the settings say (make docs writes it)', () => {
  const page = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');
  expect(page).toBe(configurationReference());
});

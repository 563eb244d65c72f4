import { readFileSync } from 'node:fs';
import { healthPage } from './page.js';

test('docs/health.md says what the rules say (make docs writes it)', () => {
  const page = readFileSync(new URL('../../../docs/health.md', import.meta.url), 'utf8');
  expect(page).toBe(healthPage());
});

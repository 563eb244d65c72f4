import { readFileSync } from 'node:fs';
import { configurationReference } from './config/reference.js';
import { healthPage } from './health/page.js';
import { metricsPage } from './metrics/page.js';
import { errorsPage } from './problem-pages/page.js';

test.each([
  ['configuration', 'the settings', configurationReference],
  ['errors', 'the table of problems', errorsPage],
  ['health', 'the rules', healthPage],
  ['metrics', 'the catalogue', metricsPage],
])('docs/%s.md says the same as %s (make docs writes it)', (page, _, written) => {
  expect(readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8')).toBe(written());
});

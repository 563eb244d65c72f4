import { readFileSync } from 'node:fs';
import { renderConfigurationPage } from './config/page.js';
import { renderHealthPage } from './health/page.js';
import { renderMetricsPage } from './metrics/page.js';
import { renderErrorsPage } from './problem-pages/page.js';

test.each([
  ['configuration', 'the settings', renderConfigurationPage],
  ['errors', 'the table of problems', renderErrorsPage],
  ['health', 'the rules', renderHealthPage],
  ['metrics', 'the catalogue', renderMetricsPage],
])('docs/%s.md is up to date with %s (run make docs)', (page, _, render) => {
  expect(readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8')).toBe(render());
});

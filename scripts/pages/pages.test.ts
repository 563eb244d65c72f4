import { readFileSync } from 'node:fs';
import { GENERATED_PAGES, replaceGenerated } from './pages.ts';

test.each(Object.entries(GENERATED_PAGES))('docs/%s is up to date (run make docs)', (name, render) => {
  const page = readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
  const generated = render();
  expect(page).toContain(generated);
  expect(replaceGenerated(page, generated)).toBe(page);
});

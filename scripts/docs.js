// Writes the pages and lists of docs/ that are generated from the code.
import { readFileSync, writeFileSync } from 'node:fs';
import { HELP_PAGES, renderHelp } from './pages/help.ts';
import { GENERATED_PAGES, replaceGenerated } from './pages/pages.ts';

const page = (name) => new URL(`../docs/${name}`, import.meta.url);

for (const [name, render] of Object.entries(GENERATED_PAGES))
  writeFileSync(page(name), replaceGenerated(readFileSync(page(name), 'utf8'), render()));

for (const help of HELP_PAGES) {
  const text = readFileSync(page(help.page), 'utf8');
  writeFileSync(
    page(help.page),
    text.replace(/```text\n[^]*?```\n/, () => renderHelp(help)),
  );
}

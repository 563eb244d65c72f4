// Writes the pages and lists of docs/ that are generated from the code.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { GENERATED_PAGES, replaceGenerated } from './pages/pages.ts';

const page = (name) => new URL(`../docs/${name}`, import.meta.url);

for (const [name, render] of Object.entries(GENERATED_PAGES))
  writeFileSync(page(name), replaceGenerated(readFileSync(page(name), 'utf8'), render()));

const gwk = fileURLToPath(new URL('../bin/gwk.js', import.meta.url));
const help = execFileSync(process.execPath, [gwk, '--help'], { encoding: 'utf8' });
const commands = readFileSync(page('cli.md'), 'utf8');
writeFileSync(
  page('cli.md'),
  commands.replace(/```text\n[^]*?```\n/, () => `\`\`\`text\n${help}\`\`\`\n`),
);

// Writes the pages and lists of docs/ that are generated from the code.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { renderConfigurationPage } from '@gwk/core/config/page';
import { renderHealthPage } from '@gwk/core/health/page';
import { renderMetricsPage } from '@gwk/core/metrics/page';
import { renderErrorsPage } from '@gwk/core/problem-pages/page';

const page = (name) => new URL(`../docs/${name}`, import.meta.url);

writeFileSync(page('configuration.md'), renderConfigurationPage());
writeFileSync(page('health.md'), renderHealthPage());
writeFileSync(page('errors.md'), renderErrorsPage());
writeFileSync(page('metrics.md'), renderMetricsPage());

const gwk = fileURLToPath(new URL('../bin/gwk.js', import.meta.url));
const help = execFileSync(process.execPath, [gwk, '--help'], { encoding: 'utf8' });
const commands = readFileSync(page('cli.md'), 'utf8');
writeFileSync(
  page('cli.md'),
  commands.replace(/```text\n[^]*?```\n/, () => `\`\`\`text\n${help}\`\`\`\n`),
);

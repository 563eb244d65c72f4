// Writes the generated pages of docs/.
import { writeFileSync } from 'node:fs';
import { renderConfigurationPage } from '@gwk/core/config/page';
import { renderHealthPage } from '@gwk/core/health/page';
import { renderMetricsPage } from '@gwk/core/metrics/page';
import { renderErrorsPage } from '@gwk/core/problem-pages/page';

writeFileSync(new URL('../docs/configuration.md', import.meta.url), renderConfigurationPage());
writeFileSync(new URL('../docs/health.md', import.meta.url), renderHealthPage());
writeFileSync(new URL('../docs/errors.md', import.meta.url), renderErrorsPage());
writeFileSync(new URL('../docs/metrics.md', import.meta.url), renderMetricsPage());

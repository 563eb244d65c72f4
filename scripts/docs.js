// Writes the pages of docs/ that are made from the code.
import { writeFileSync } from 'node:fs';
import { configurationReference } from '@gwk/core/config/reference';
import { healthPage } from '@gwk/core/health/page';
import { metricsPage } from '@gwk/core/metrics/page';
import { errorsPage } from '@gwk/core/problem-pages/page';

writeFileSync(new URL('../docs/configuration.md', import.meta.url), configurationReference());
writeFileSync(new URL('../docs/health.md', import.meta.url), healthPage());
writeFileSync(new URL('../docs/errors.md', import.meta.url), errorsPage());
writeFileSync(new URL('../docs/metrics.md', import.meta.url), metricsPage());

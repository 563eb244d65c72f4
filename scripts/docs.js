// Writes the pages of docs/ that are made from the code.
import { writeFileSync } from 'node:fs';
import { configurationReference } from '@gwk/core/config/reference';

writeFileSync(new URL('../docs/configuration.md', import.meta.url), configurationReference());

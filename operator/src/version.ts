import { readFileSync } from 'node:fs';

/** Version of this build. On one machine also that of the engines that the operator starts. */
export const VERSION = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

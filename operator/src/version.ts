import { readFileSync } from 'node:fs';

/** Of this build, and so of the engines that it starts on one machine. */
export const VERSION = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

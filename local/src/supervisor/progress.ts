import { isAbsolute, relative } from 'node:path';
import type { Access } from './first-key.js';

/** Prints progress lines with the seconds since the start. */
export class Progress {
  readonly #began = performance.now();

  constructor(readonly print: (text: string) => void) {}

  get seconds(): string {
    return ((performance.now() - this.#began) / 1000).toFixed(1);
  }

  log = (text: string): void => {
    this.print(`[${this.seconds.padStart(5)} s] ${text}`);
  };
}

interface Welcome {
  access: Access;
  isNew: boolean;
  seconds: string;
  /** Link that signs in to the console once; null: the console is off. */
  console: string | null;
  /** File of the API key. */
  accessFile: string;
  /** Whether a simulated network runs too. */
  simulated: boolean;
}

const NETWORK_HELP = [
  'The messaging network is simulated. Control its phones and contacts:',
  '',
  '  npx gwk network scan <instance>',
  '  npx gwk network say 5511988887777 "oi"',
  '  npx gwk network inbox 5511988887777',
  '',
];

/** Text printed once everything is ready. */
export function renderWelcome({ access, isNew, seconds, console, accessFile, simulated }: Welcome): string {
  const near = relative(process.cwd(), accessFile);
  const file = near.startsWith('..') || isAbsolute(near) ? accessFile : near;
  const key = isNew ? `${access.api_key}   (shown this once; kept in ${file})` : `in ${file}`;
  const bearer = isNew ? access.api_key : `$(node -p 'JSON.parse(fs.readFileSync("${file}")).api_key')`;
  return [
    '',
    `gwk is ready after ${seconds} s. Ctrl-C stops it.`,
    '',
    `  address   ${access.base_url}`,
    `  API key   ${key}`,
    ...(console === null ? [] : [`  console   ${console}   (once, within 10 minutes; then gwk console)`]),
    '',
    isNew ? 'Create a sandbox instance, which pairs by itself and sends nothing:' : 'List your instances:',
    '',
    `  curl -s ${access.base_url}/v1/instances \\`,
    ...(isNew ? [`    -H 'Content-Type: application/json' -d '{"name":"first","kind":"sandbox"}' \\`] : []),
    `    -H "Authorization: Bearer ${bearer}"`,
    '',
    ...(simulated ? NETWORK_HELP : []),
  ].join('\n');
}

import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { PermissionError } from '@gwk/client';
import type { Command } from 'commander';
import { addCommand, note, print, printList, type CommonOptions } from '../command.js';
import { CliError } from '../errors.js';
import { createClient, type Access } from '../gateway/client.js';
import { readServerVersion, describeVersions } from '../gateway/server-version.js';
import { chooseWay, requestKey, type LoginChoice } from './browser-login.js';
import {
  addProfile,
  findProfile,
  hideKey,
  isExposed,
  parseAddress,
  readProfiles,
  removeProfile,
  writeProfiles,
} from './profiles.js';

export function registerProfiles(program: Command): void {
  program
    .command('login [address]')
    .description(
      'store the address and an API key of a gateway; asks for the key in the browser, or reads it from standard input',
    )
    .option('--profile <name>', 'name of the stored gateway', 'default')
    .option('--key', 'ask for an API key instead of opening the browser')
    .option('--no-browser', 'print the address to open instead of opening the browser')
    .option('--console <address>', 'address of the console, if it has a host of its own')
    .action(login);
  program
    .command('logout')
    .description('forget a stored gateway; the key stays valid until it is revoked')
    .option('--profile <name>', 'name of the stored gateway (default: the current one)')
    .action(({ profile }: { profile?: string }) => {
      const file = readProfiles();
      const name = profile ?? file.current;
      const stored = findProfile(file, name);
      if (!stored) throw new CliError('usage', `There is no profile "${name}"`);
      writeProfiles(removeProfile(file, name));
      print(`Forgot ${name} (${stored.url})`);
    });
  const profiles = addCommand(program, 'profiles', 'list the stored gateways').action(
    (options: CommonOptions) => {
      const { current, profiles: stored } = readProfiles();
      const items = Object.entries(stored).map(([name, { url, key }]) => {
        return { name, current: name === current, url, key: hideKey(key) };
      });
      const columns = {
        name: nameOf,
        current: (item: Shown) => (item.current ? '*' : ''),
        url: urlOf,
        key: keyOf,
      };
      printList(items, columns, options);
    },
  );
  profiles
    .command('use <name>')
    .description('make a stored gateway the current one')
    .action((name: string) => {
      const file = readProfiles();
      if (!findProfile(file, name)) throw new CliError('usage', `There is no profile "${name}"`);
      writeProfiles({ ...file, current: name });
    });
}

interface Shown {
  name: string;
  current: boolean;
  url: string;
  key: string;
}
const nameOf = ({ name }: Shown) => name;
const urlOf = ({ url }: Shown) => url;
const keyOf = ({ key }: Shown) => key;

interface LoginOptions extends LoginChoice {
  profile: string;
  console?: string;
}

async function login(address: string | undefined, options: LoginOptions): Promise<void> {
  const { profile } = options;
  const given = address ?? process.env['GWK_URL'];
  if (given === undefined && !process.stdin.isTTY)
    throw new CliError('usage', 'Name the address: gwk login <address>');
  const url = parseAddress(given ?? (await ask('Address: ', false)));
  const consoleUrl = parseAddress(options.console ?? url);
  for (const exposed of new Set([url, consoleUrl].filter(isExposed)))
    note(`Warning: ${exposed} is not encrypted. Others on the way can read the key.`);
  const key = (await readKey(consoleUrl, options)).trim();
  if (key === '') throw new CliError('usage', 'The key is empty');
  await checkKey({ url, key });
  const path = writeProfiles(addProfile(readProfiles(), profile, { url, key }));
  print(`Signed in to ${url} with key ${hideKey(key)}, stored as profile ${profile} in ${path}`);
  const remark = describeVersions(await readServerVersion({ url, key }));
  if (remark !== null) note(remark);
}

async function readKey(consoleUrl: string, options: LoginOptions): Promise<string> {
  const way = chooseWay(options, process.stdin.isTTY);
  if (way === 'browser') return requestKey(consoleUrl, { opens: options.browser });
  return way === 'prompt' ? ask('API key: ', true) : readText(process.stdin);
}

/** A key without the right to list instances is valid too. @throws GwkError */
export async function checkKey(access: Access): Promise<void> {
  try {
    await createClient(access).instances.list({ limit: 1 });
  } catch (error) {
    if (!(error instanceof PermissionError)) throw error;
  }
}

async function ask(question: string, hidden: boolean): Promise<string> {
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const output = hidden ? silent : process.stderr;
  const reader = createInterface({ input: process.stdin, output, terminal: true });
  const interrupted = new AbortController();
  reader.once('SIGINT', () => interrupted.abort());
  try {
    return await reader.question('', { signal: interrupted.signal });
  } catch (error) {
    throw new CliError('usage', 'interrupted', { cause: error });
  } finally {
    reader.close();
    if (hidden) process.stderr.write('\n');
  }
}

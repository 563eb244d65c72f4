import { baseUrl, commandEnvironment, type Wiring } from './environments.js';
import { readJson, writePrivateJson } from './folder.js';
import { runGwk } from './programs.js';

export interface Access {
  base_url: string;
  api_key: string;
}

/** The account that `make run` creates. */
export const ACCOUNT = 'local';
const UNAUTHORIZED = 401;

/**
 * Returns the API key for scripts. Creates one if none exists, or if the database does not know it (another
 * DATABASE_URL than last time).
 */
export async function ensureAccess(
  file: string,
  wiring: Wiring,
): Promise<{ access: Access; isNew: boolean }> {
  const kept = readJson(file) as Access | undefined;
  const base_url = baseUrl(wiring.config);
  if (kept && (await isValidKey(base_url, kept.api_key))) {
    if (kept.base_url !== base_url) writePrivateJson(file, { ...kept, base_url });
    return { access: { ...kept, base_url }, isNew: false };
  }
  const access = { base_url, api_key: await createKey(wiring) };
  writePrivateJson(file, access);
  return { access, isNew: true };
}

async function isValidKey(base: string, key: string): Promise<boolean> {
  const answer = await fetch(`${base}/v1/instances?limit=1`, { headers: { authorization: `Bearer ${key}` } });
  await answer.body?.cancel();
  return answer.status !== UNAUTHORIZED;
}

async function createKey(wiring: Wiring): Promise<string> {
  const accounts = (await gwk(wiring, 'account', 'list')) as { name: string }[];
  if (!accounts.some(({ name }) => name === ACCOUNT)) await gwk(wiring, 'account', 'create', ACCOUNT);
  const key = (await gwk(wiring, 'key', 'create', '--account', ACCOUNT, '--scopes', 'all')) as {
    api_key: string;
  };
  return key.api_key;
}

/** Runs a `gwk` command and parses its JSON output. */
async function gwk(wiring: Wiring, ...args: string[]): Promise<unknown> {
  return JSON.parse(await runGwk(args, commandEnvironment(wiring, process.env)));
}

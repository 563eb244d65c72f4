import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Agent } from 'undici';
import { parse } from 'yaml';
import type { KubeAccess } from './access.js';

/** What of a kubeconfig is understood here; whatever else it says (plugins, proxies) is for client-node. */
interface Config {
  'current-context'?: string;
  contexts?: { name: string; context: { cluster: string; user: string; namespace?: string } }[];
  clusters?: { name: string; cluster: Record<string, unknown> }[];
  users?: { name: string; user: Record<string, unknown> }[];
}

const CLUSTER_KEYS = new Set(['server', 'certificate-authority', 'certificate-authority-data']);
const USER_KEYS = new Set([
  'token',
  'client-certificate',
  'client-certificate-data',
  'client-key',
  'client-key-data',
]);

/**
 * Access by a kubeconfig of one file with a token or a certificate, which most are: without the 55 MB that client-node
 * takes. Null: it says something that only client-node understands.
 */
export function plainAccess(file: string): KubeAccess | null {
  const config = parse(readFileSync(file, 'utf8')) as Config;
  const context = config.contexts?.find(({ name }) => name === config['current-context'])?.context;
  const cluster = config.clusters?.find(({ name }) => name === context?.cluster)?.cluster;
  const user = config.users?.find(({ name }) => name === context?.user)?.user ?? {};
  if (!context || !cluster || !isPlain(cluster, CLUSTER_KEYS) || !isPlain(user, USER_KEYS)) return null;
  const read = (from: Record<string, unknown>, key: string) => textOf(from, key, dirname(file));
  const [ca, cert, key] = [
    read(cluster, 'certificate-authority'),
    read(user, 'client-certificate'),
    read(user, 'client-key'),
  ];
  const { token } = user as { token?: string };
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const connect = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  return {
    server: String(cluster['server']).replace(/\/$/, ''),
    namespace: context.namespace ?? null,
    headers: () => Promise.resolve(headers),
    dispatcher: () => Promise.resolve(new Agent({ connect: { ...connect, keepAlive: true } })),
  };
}

const isPlain = (given: Record<string, unknown>, known: Set<string>): boolean =>
  Object.entries(given).every(([key, value]) => known.has(key) && typeof value === 'string');

/** `x-data` is the text in base64, `x` the file that holds it, seen from the configuration. */
function textOf(given: Record<string, unknown>, key: string, folder: string): string | undefined {
  const data = given[`${key}-data`] as string | undefined;
  if (data !== undefined) return Buffer.from(data, 'base64').toString();
  const path = given[key] as string | undefined;
  return path === undefined ? undefined : readFileSync(resolve(folder, path), 'utf8');
}

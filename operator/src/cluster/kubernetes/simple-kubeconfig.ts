import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Agent } from 'undici';
import { parse } from 'yaml';
import type { KubeAccess } from './client.js';

/** The parts of a kubeconfig read here. client-node handles the rest (plugins, proxies). */
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
 * Reads a single-file kubeconfig with a token or a certificate, without loading client-node (55 MB). Null: it needs
 * client-node.
 */
export function readSimpleKubeconfig(file: string): KubeAccess | null {
  const parts = findParts(parse(readFileSync(file, 'utf8')) as Config);
  if (!parts) return null;
  const { cluster, user, namespace } = parts;
  const read = (from: Record<string, unknown>, key: string) => readValue(from, key, dirname(file));
  const connect = {
    ...given('ca', read(cluster, 'certificate-authority')),
    ...given('cert', read(user, 'client-certificate')),
    ...given('key', read(user, 'client-key')),
    keepAlive: true,
  };
  const { token } = user as { token?: string };
  const headers = given('authorization', token && `Bearer ${token}`);
  return {
    server: String(cluster['server']).replace(/\/$/, ''),
    namespace,
    headers: () => Promise.resolve(headers),
    dispatcher: () => Promise.resolve(new Agent({ connect })),
  };
}

const given = (name: string, value: string | undefined): Record<string, string> =>
  value === undefined ? {} : { [name]: value };

type Fields = Record<string, unknown>;

/** Cluster and user of the current context; null if it is missing or needs client-node. */
function findParts(config: Config): { cluster: Fields; user: Fields; namespace: string | null } | null {
  const { contexts, clusters, users } = config;
  const context = named(contexts, config['current-context'])?.context;
  if (!context) return null;
  const cluster = named(clusters, context.cluster)?.cluster;
  const user = named(users, context.user)?.user ?? {};
  if (!cluster || !isPlain(cluster, CLUSTER_KEYS) || !isPlain(user, USER_KEYS)) return null;
  return { cluster, user, namespace: context.namespace ?? null };
}

const named = <T extends { name: string }>(
  list: T[] | undefined,
  wanted: string | undefined,
): T | undefined => list?.find(({ name }) => name === wanted);

const isPlain = (fields: Fields, known: Set<string>): boolean =>
  Object.entries(fields).every(([key, value]) => known.has(key) && typeof value === 'string');

/** Key `x-data` holds the text in base64. Key `x` holds a path relative to the kubeconfig. */
function readValue(from: Fields, key: string, folder: string): string | undefined {
  const data = from[`${key}-data`] as string | undefined;
  if (data !== undefined) return Buffer.from(data, 'base64').toString();
  const path = from[key] as string | undefined;
  return path === undefined ? undefined : readFileSync(resolve(folder, path), 'utf8');
}

import type { KubeConfig } from '@kubernetes/client-node';
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { Agent } from 'undici';
import type { KubeAccess } from './client.js';
import { readSimpleKubeconfig } from './simple-kubeconfig.js';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Read the token file at most every 10 s. Kubernetes rotates it long before it expires. */
const TOKEN_FRESH_MS = 10_000;
const KEEP_ALIVE_MS = 30_000;

/**
 * Uses KUBECONFIG if set, else the service account of the pod, else kubectl's default configuration. client-node (55
 * MB of memory) is loaded only for configurations with plugins or proxies, which never exist inside a cluster.
 */
export async function loadKubeAccess(): Promise<KubeAccess> {
  const { KUBECONFIG: given, KUBERNETES_SERVICE_HOST: host } = process.env;
  if (given === undefined && host !== undefined) return createServiceAccountAccess();
  const plain = given !== undefined && !given.includes(delimiter) ? readSimpleKubeconfig(given) : null;
  if (plain) return plain;
  const { KubeConfig } = await import('@kubernetes/client-node');
  const kube = new KubeConfig();
  kube.loadFromDefault();
  if (!kube.getCurrentCluster()) throw new Error('no cluster configured: set KUBECONFIG');
  return createKubeConfigAccess(kube);
}

export function createServiceAccountAccess(folder = SERVICE_ACCOUNT, environment = process.env): KubeAccess {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '443' } = environment;
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8').trim();
  let token = { value: read('token'), readAt: performance.now() };
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    namespace: read('namespace'),
    async headers() {
      if (performance.now() - token.readAt > TOKEN_FRESH_MS)
        token = { value: read('token'), readAt: performance.now() };
      return { authorization: `Bearer ${token.value}` };
    },
    async dispatcher() {
      const connect = { ca: read('ca.crt'), keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
      return new Agent({ connect });
    },
  };
}

export function createKubeConfigAccess(kube: KubeConfig): KubeAccess {
  const authenticated = async () => {
    const { HttpMethod, RequestContext } = await import('@kubernetes/client-node');
    const context = new RequestContext(kube.getCurrentCluster()!.server, HttpMethod.GET);
    await kube.applySecurityAuthentication(context);
    return context;
  };
  return {
    server: kube.getCurrentCluster()!.server,
    namespace: kube.getContextObject(kube.getCurrentContext())?.namespace ?? null,
    headers: async () => (await authenticated()).getHeaders(),
    dispatcher: async () => (await authenticated()).getDispatcher(),
  };
}

import { loadKubeAccess, createKubeConfigAccess } from '../../cluster/kubernetes/access.js';
import type { KubeAccess } from '../../cluster/kubernetes/client.js';
import { CliError, findTarget } from '../instances/target.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Chooses the cluster: a named kubeconfig or context, then the gateway on this machine, then kubectl's default.
 * @throws CliError
 */
export async function findAccess(
  { kubeconfig, context }: { kubeconfig?: string; context?: string },
  env: Environment,
  from: string,
): Promise<KubeAccess> {
  const named = kubeconfig !== undefined || context !== undefined || env['KUBECONFIG'] !== undefined;
  const local = named ? null : localAccess(env, from);
  if (local) return local;
  try {
    if (kubeconfig === undefined && context === undefined) return await loadKubeAccess();
    const { KubeConfig } = await import('@kubernetes/client-node');
    const kube = new KubeConfig();
    if (kubeconfig === undefined) kube.loadFromDefault();
    else kube.loadFromFile(kubeconfig);
    if (context !== undefined) kube.setCurrentContext(context);
    if (!kube.getCurrentCluster()) throw new Error(`no context ${kube.getCurrentContext()}`);
    return createKubeConfigAccess(kube);
  } catch (error) {
    throw new CliError(`no cluster found: ${(error as Error).message}`, { cause: error });
  }
}

function localAccess(env: Environment, from: string): KubeAccess | null {
  try {
    const { url, token } = findTarget(env, from);
    return {
      server: url.replace(/\/$/, ''),
      namespace: null,
      headers: () => Promise.resolve({ authorization: `Bearer ${token}` }),
      dispatcher: () => Promise.resolve(undefined),
    };
  } catch (error) {
    if (error instanceof CliError && env['GWK_CLUSTER_URL'] === undefined) return null;
    throw error;
  }
}

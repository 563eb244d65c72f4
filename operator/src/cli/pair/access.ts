import { KubeConfig } from '@kubernetes/client-node';
import { KubeClient } from '../../cluster/kubernetes/client.js';
import { CliError, findTarget } from '../instances/target.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Chooses the cluster: a named kubeconfig or context, then the gateway on this machine, then kubectl's default.
 * @throws CliError
 */
export function findCluster(
  { kubeconfig, context }: { kubeconfig?: string; context?: string },
  env: Environment,
  from: string,
): KubeClient {
  const named = kubeconfig !== undefined || context !== undefined || env['KUBECONFIG'] !== undefined;
  const local = named ? null : findLocal(env, from);
  if (local) return new KubeClient({ kube: local });
  try {
    const kube = new KubeConfig();
    if (kubeconfig === undefined) return new KubeClient({ context });
    kube.loadFromFile(kubeconfig);
    return new KubeClient({ kube, context });
  } catch (error) {
    throw new CliError(`no cluster found: ${(error as Error).message}`, { cause: error });
  }
}

function findLocal(env: Environment, from: string): KubeConfig | null {
  try {
    const { url, token } = findTarget(env, from);
    const kube = new KubeConfig();
    const cluster = { name: 'local', server: url.replace(/\/$/, ''), skipTLSVerify: url.startsWith('http:') };
    kube.loadFromClusterAndUser(cluster, { name: 'local', token });
    return kube;
  } catch (error) {
    if (error instanceof CliError && env['GWK_CLUSTER_URL'] === undefined) return null;
    throw error;
  }
}

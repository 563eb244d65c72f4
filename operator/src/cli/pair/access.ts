import { KubeConfig } from '@kubernetes/client-node';
import { KubeClient } from '../../cluster/kubernetes/client.js';
import type { Address } from '../../cluster/local/address.js';
import { CliError, findTarget } from '../instances/target.js';

type Environment = Readonly<Record<string, string | undefined>>;

interface Choice {
  kubeconfig?: string;
  context?: string;
}

/**
 * Finds the gateway on this machine. Null: there is none, or the user named a kubeconfig or a context.
 * @throws CliError
 */
export function findOperator(
  { kubeconfig, context }: Choice,
  env: Environment,
  from: string,
): Address | null {
  if (kubeconfig !== undefined || context !== undefined || env['KUBECONFIG'] !== undefined) return null;
  try {
    return findTarget(env, from);
  } catch (error) {
    if (error instanceof CliError && env['GWK_CLUSTER_URL'] === undefined) return null;
    throw error;
  }
}

/** Chooses the named kubeconfig or context, else kubectl's default. @throws CliError */
export function findCluster({ kubeconfig, context }: Choice): KubeClient {
  try {
    if (kubeconfig === undefined) return new KubeClient({ context });
    const kube = new KubeConfig();
    kube.loadFromFile(kubeconfig);
    return new KubeClient({ kube, context });
  } catch (error) {
    throw new CliError(`no cluster found: ${(error as Error).message}`, { cause: error });
  }
}

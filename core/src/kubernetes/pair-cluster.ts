import { CoreV1Api, CustomObjectsApi, KubeConfig } from '@kubernetes/client-node';
import { INSTANCES, isCode, KubeClient, orNull, PATCH } from './client.js';
import {
  PAIRING_ANNOTATION,
  PAIRING_FIELD,
  pairingSecretName,
  PairingView,
} from '../resources/pairing-request.js';
import { CliError } from '../process/cli-error.js';
import type { PairCluster } from '../pairing/pair.js';

/** Chooses the named kubeconfig or context, else kubectl's default. @throws CliError */
export function findCluster(kubeconfig: string | undefined, context: string | undefined): KubeClient {
  try {
    if (kubeconfig === undefined) return new KubeClient({ context });
    const kube = new KubeConfig();
    kube.loadFromFile(kubeconfig);
    return new KubeClient({ kube, context });
  } catch (error) {
    throw new CliError(`no cluster found: ${(error as Error).message}`, { cause: error, kind: 'usage' });
  }
}

/** An Instance on Kubernetes. */
export function createPairCluster(client: KubeClient, namespace: string, name: string): PairCluster {
  const core = client.makeApiClient(CoreV1Api);
  const objects = client.makeApiClient(CustomObjectsApi);
  const target = { ...INSTANCES, namespace, name };
  const secret = { namespace, name: pairingSecretName(name) };
  return {
    instance: () => orNull(objects.getNamespacedCustomObject(target)),
    async setRequest(request) {
      const annotations = { [PAIRING_ANNOTATION]: request && JSON.stringify(request) };
      const patch = { ...target, body: { metadata: { annotations } }, fieldManager: 'gwk-pair' };
      await objects.patchNamespacedCustomObject(patch, PATCH.merge);
    },
    async view() {
      const found = await orNull(core.readNamespacedSecret(secret)).catch((error: unknown) => {
        if (!isCode(error, 403)) throw error;
        throw new CliError(
          `the code is in Secret ${secret.name} of namespace ${namespace}, which you have no right to get`,
          { kind: 'auth' },
        );
      });
      const text = found?.data?.[PAIRING_FIELD];
      return text === undefined
        ? null
        : PairingView.parse(JSON.parse(Buffer.from(text, 'base64').toString()));
    },
  };
}

import type { CoreV1Api } from '@kubernetes/client-node';
import { MANIFEST_API_VERSION } from '@gwk/core/resources/manifest';
import { PAIRING_FIELD, pairingSecretName, type PairingView } from '@gwk/core/resources/pairing-request';
import type { Target } from '../cluster.js';
import { orNull } from '@gwk/core/kubernetes/client';
import { FIELD_MANAGERS, LABELS, MANAGED_BY, parseKey } from '@gwk/core/kubernetes/names';

/**
 * Publishes the state of a pairing in a Secret, which only users who may read Secrets can see. It is deleted with its
 * Instance at the latest.
 */
export async function publishPairing(
  core: CoreV1Api,
  { key, uid }: Target,
  view: PairingView | null,
): Promise<void> {
  const { namespace, name: instance } = parseKey(key);
  const name = pairingSecretName(instance);
  // The operator has no right to change Secrets, so it replaces this one. A failure between both calls is retried.
  await orNull(core.deleteNamespacedSecret({ namespace, name }));
  if (view === null) return;
  const labels = {
    [LABELS.managedBy]: MANAGED_BY,
    [LABELS.component]: 'pairing',
    [LABELS.instance]: instance,
  };
  const owner = { apiVersion: MANIFEST_API_VERSION, kind: 'Instance', name: instance, uid };
  const body = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels, ownerReferences: [{ ...owner, blockOwnerDeletion: false }] },
    type: 'Opaque',
    data: { [PAIRING_FIELD]: Buffer.from(JSON.stringify(view)).toString('base64') },
  };
  await core.createNamespacedSecret({ namespace, body, fieldManager: FIELD_MANAGERS.objects });
}

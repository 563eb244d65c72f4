import { MANIFEST_API_VERSION } from '@gwk/core/resources/manifest';
import { PAIRING_FIELD, pairingSecretName, type PairingView } from '@gwk/core/resources/pairing-request';
import type { Target } from '../cluster.js';
import { isCode, PATCH_TYPES, type KubeClient } from './client.js';
import { FIELD_MANAGERS, LABELS, MANAGED_BY, parseKey } from './names.js';

/**
 * Publishes the state of a pairing in a Secret, which only users who may read Secrets can see. It is deleted with its
 * Instance at the latest.
 */
export async function publishPairing(
  client: KubeClient,
  { key, uid }: Target,
  view: PairingView | null,
): Promise<void> {
  const { namespace, name } = parseKey(key);
  const secret = pairingSecretName(name);
  const path = `/api/v1/namespaces/${namespace}/secrets/${secret}`;
  if (view === null) {
    await client.call({ method: 'DELETE', path }).catch((error: unknown) => {
      if (!isCode(error, 404)) throw error;
    });
    return;
  }
  await client.call({
    method: 'PATCH',
    path,
    query: { fieldManager: FIELD_MANAGERS.objects, force: true },
    type: PATCH_TYPES.apply,
    body: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: secret,
        namespace,
        labels: {
          [LABELS.managedBy]: MANAGED_BY,
          [LABELS.component]: 'pairing',
          [LABELS.instance]: name,
        },
        ownerReferences: [
          { apiVersion: MANIFEST_API_VERSION, kind: 'Instance', name, uid, blockOwnerDeletion: false },
        ],
      },
      type: 'Opaque',
      data: { [PAIRING_FIELD]: Buffer.from(JSON.stringify(view)).toString('base64') },
    },
  });
}

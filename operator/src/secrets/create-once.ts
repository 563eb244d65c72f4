import type { CoreV1Api } from '@kubernetes/client-node';
import { isCode, orNull } from '@gwk/core/kubernetes/client';
import { FIELD_MANAGERS } from '../cluster/kubernetes/names.js';
import type { SecretSpec } from './secret-specs.js';

/**
 * Creates the Secret if it is missing. Never writes to an existing Secret, because the database holds data encrypted
 * with its keys.
 * @returns whether it was created
 * @throws KubeError, or Error if an existing Secret lacks a key
 */
export async function createSecretOnce(
  core: CoreV1Api,
  namespace: string,
  spec: SecretSpec,
): Promise<boolean> {
  if (await existsComplete(core, namespace, spec)) return false;
  try {
    await core.createNamespacedSecret({
      namespace,
      fieldManager: FIELD_MANAGERS.objects,
      body: {
        metadata: { name: spec.name, labels: { 'app.kubernetes.io/part-of': 'gwk' } },
        type: spec.type,
        stringData: await spec.generate(),
      },
    });
    return true;
  } catch (error) {
    // Somebody created it meanwhile, so discard these keys.
    if (!isCode(error, 409)) throw error;
    await existsComplete(core, namespace, spec);
    return false;
  }
}

async function existsComplete(core: CoreV1Api, namespace: string, spec: SecretSpec): Promise<boolean> {
  const secret = await orNull(core.readNamespacedSecret({ namespace, name: spec.name }));
  if (!secret) return false;
  const missing = spec.keys.filter((key) => !secret.data?.[key]);
  if (missing.length === 0) return true;
  throw new Error(
    `the Secret ${spec.name} has no ${missing.join(', ')}. Existing Secrets are never changed: add the missing keys, or ` +
      'name another Secret',
  );
}

import { KubeError, type KubeClient } from '../cluster/kubernetes/client.js';
import { FIELD_MANAGERS } from '../cluster/kubernetes/names.js';
import type { SecretSpec } from './secret-specs.js';

/** The existing Secret lacks a key, and this command never changes an existing Secret. */
class IncompleteSecret extends Error {
  override name = 'IncompleteSecret';
}

/**
 * Creates the Secret if it is missing. Never writes to an existing Secret, because the database holds data encrypted
 * with its keys.
 * @returns whether it was created
 * @throws IncompleteSecret, KubeError
 */
export async function createSecretOnce(
  client: KubeClient,
  namespace: string,
  spec: SecretSpec,
): Promise<boolean> {
  if (await existsComplete(client, namespace, spec)) return false;
  try {
    await client.call({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/secrets`,
      query: { fieldManager: FIELD_MANAGERS.objects },
      body: {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: spec.name, labels: { 'app.kubernetes.io/part-of': 'gwk' } },
        type: spec.type,
        stringData: spec.generate(),
      },
    });
    return true;
  } catch (error) {
    // Somebody created it meanwhile, so discard these keys.
    if (!(error instanceof KubeError && error.code === 409)) throw error;
    await existsComplete(client, namespace, spec);
    return false;
  }
}

async function existsComplete(client: KubeClient, namespace: string, spec: SecretSpec): Promise<boolean> {
  const path = `/api/v1/namespaces/${namespace}/secrets/${spec.name}`;
  try {
    const { data = {} } = await client.call<{ data?: Record<string, string> }>({ path });
    const missing = spec.keys.filter((key) => !data[key]);
    if (missing.length === 0) return true;
    throw new IncompleteSecret(
      `the Secret ${spec.name} has no ${missing.join(', ')}. Existing Secrets are never changed: add the missing keys, or ` +
        'name another Secret',
    );
  } catch (error) {
    if (error instanceof KubeError && error.code === 404) return false;
    throw error;
  }
}

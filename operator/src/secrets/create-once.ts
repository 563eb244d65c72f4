import { KubeError, type KubeClient } from '../cluster/kubernetes/client.js';
import { FIELD_MANAGERS } from '../cluster/kubernetes/names.js';
import type { SecretSpec } from './secret-specs.js';

/** What is there lacks what is wanted, and is not ours to change. */
export class IncompleteSecret extends Error {
  override name = 'IncompleteSecret';
}

/**
 * Makes the Secret where it is missing. One that is there is never written to, whoever made it: its keys have sealed
 * what the database holds.
 * @returns whether it was made now
 * @throws IncompleteSecret, KubeError
 */
export async function createSecretOnce(
  client: KubeClient,
  namespace: string,
  wanted: SecretSpec,
): Promise<boolean> {
  if (await isThere(client, namespace, wanted)) return false;
  try {
    await client.call({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/secrets`,
      query: { fieldManager: FIELD_MANAGERS.objects },
      body: {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: wanted.name, labels: { 'app.kubernetes.io/part-of': 'gwk' } },
        type: wanted.type,
        stringData: wanted.make(),
      },
    });
    return true;
  } catch (error) {
    // Another has made it meanwhile: its keys count, and these are forgotten.
    if (!(error instanceof KubeError && error.code === 409)) throw error;
    await isThere(client, namespace, wanted);
    return false;
  }
}

async function isThere(client: KubeClient, namespace: string, wanted: SecretSpec): Promise<boolean> {
  const path = `/api/v1/namespaces/${namespace}/secrets/${wanted.name}`;
  try {
    const { data = {} } = await client.call<{ data?: Record<string, string> }>({ path });
    const missing = wanted.keys.filter((key) => !data[key]);
    if (missing.length === 0) return true;
    throw new IncompleteSecret(
      `the Secret ${wanted.name} has no ${missing.join(', ')}; it is not written to, so add what is missing, or ` +
        'name another one',
    );
  } catch (error) {
    if (error instanceof KubeError && error.code === 404) return false;
    throw error;
  }
}

import { CoreV1Api } from '@kubernetes/client-node';
import { isCode, KubeClient, orNull } from '@gwk/core/kubernetes/client';
import { FIELD_MANAGERS } from '@gwk/core/kubernetes/names';
import { listSecretSpecs, type SecretsOptions, type SecretSpec } from '../../secrets/secret-specs.js';

/** @returns the exit code */
export async function runMakeSecrets(options: SecretsOptions): Promise<number> {
  const mistake = findMistake(options);
  if (mistake !== null) return complain(mistake, 2);
  try {
    const client = new KubeClient();
    const core = client.makeApiClient(CoreV1Api);
    try {
      for (const spec of listSecretSpecs(options)) {
        const made = await createSecretOnce(core, client.namespace, spec);
        process.stdout.write(`${JSON.stringify({ secret: spec.name, made })}\n`);
      }
    } finally {
      await client.close();
    }
    return 0;
  } catch (error) {
    return complain((error as Error).message, 1);
  }
}

function findMistake(options: SecretsOptions): string | null {
  if (options.internalTls !== undefined && !options.internalNames)
    return '--internal-tls needs --internal-names';
  if (options.demo !== undefined && !(options.demoPostgresHost && options.demoRedisHost))
    return '--demo needs --demo-postgres-host and --demo-redis-host';
  return null;
}

function complain(message: string, code: number): number {
  process.stderr.write(`gwk secrets make: ${message}\n`);
  return code;
}

/**
 * Creates the Secret if it is missing. Never writes to an existing Secret, because the database holds data encrypted
 * with its keys.
 * @returns whether it was created
 * @throws KubeError, or Error if an existing Secret lacks a key
 */
async function createSecretOnce(core: CoreV1Api, namespace: string, spec: SecretSpec): Promise<boolean> {
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

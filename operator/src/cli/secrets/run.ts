import { CoreV1Api } from '@kubernetes/client-node';
import { KubeClient } from '@gwk/core/kubernetes/client';
import { createSecretOnce } from '../../secrets/create-once.js';
import { listSecretSpecs, type SecretsOptions } from '../../secrets/secret-specs.js';

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

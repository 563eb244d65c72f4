import { kubeAccess } from '../../cluster/kubernetes/access.js';
import { KubeClient } from '../../cluster/kubernetes/client.js';
import { createSecretOnce } from '../../secrets/create-once.js';
import { listSecretSpecs, type SecretNames } from '../../secrets/secret-specs.js';

interface Given {
  gateway?: string;
  internalTls?: string;
  internalNames?: string;
  demo?: string;
  demoPostgresHost?: string;
  demoRedisHost?: string;
}

/** @returns the exit code */
export async function runMakeSecrets(given: Given): Promise<number> {
  const fault = faultIn(given);
  if (fault !== null) return complain(fault, 2);
  try {
    const access = await kubeAccess();
    const client = new KubeClient(access);
    try {
      for (const wanted of listSecretSpecs(asked(given))) {
        const made = await createSecretOnce(client, access.namespace ?? 'default', wanted);
        process.stdout.write(`${JSON.stringify({ secret: wanted.name, made })}\n`);
      }
    } finally {
      await client.close();
    }
    return 0;
  } catch (error) {
    return complain((error as Error).message, 1);
  }
}

function faultIn(given: Given): string | null {
  if (given.internalTls !== undefined && !given.internalNames) return '--internal-tls needs --internal-names';
  if (given.demo !== undefined && !(given.demoPostgresHost && given.demoRedisHost))
    return '--demo needs --demo-postgres-host and --demo-redis-host';
  return null;
}

function asked({ gateway, internalTls, internalNames, demo, ...hosts }: Given): SecretNames {
  const { demoPostgresHost: postgresHost = '', demoRedisHost: redisHost = '' } = hosts;
  return {
    gateway,
    internalTls,
    internalNames: internalNames?.split(','),
    demo: demo === undefined ? undefined : { name: demo, postgresHost, redisHost },
  };
}

function complain(message: string, code: number): number {
  process.stderr.write(`gwk secrets make: ${message}\n`);
  return code;
}

import type { Command } from 'commander';
import type { SecretsOptions } from '../secrets/secret-specs.js';

/** `gwk secrets make` creates values that a chart must not generate at each rendering. */
export function registerSecrets(program: Command): void {
  const secrets = program
    .command('secrets')
    .description('manage the Secrets of an installation on Kubernetes');
  secrets
    .command('make')
    .description('create missing Secrets; existing ones are never changed')
    .option('--gateway <name>', 'Secret with the encryption keys and the operator token')
    .option('--internal-tls <name>', 'Secret with the certificate of the internal API')
    .option('--internal-names <names>', 'comma-separated host names of the internal API')
    .option('--demo <name>', 'Secret with the passwords of the demo Postgres and Redis')
    .option('--demo-postgres-host <host>', 'host of the demo Postgres')
    .option('--demo-redis-host <host>', 'host of the demo Redis')
    .addHelpText('after', '\nUses the namespace of the service account, or of the KUBECONFIG context.\n')
    .action(async (options: SecretsOptions) => {
      const { runMakeSecrets } = await import('./secrets/run.js');
      process.exitCode = await runMakeSecrets(options);
    });
}

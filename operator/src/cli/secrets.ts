import type { Command } from 'commander';

interface Given {
  gateway?: string;
  internalTls?: string;
  internalNames?: string;
  demo?: string;
  demoPostgresHost?: string;
  demoRedisHost?: string;
}

/** `gwk secrets make`: what a chart may not make up anew at each rendering. */
export function registerSecrets(program: Command): void {
  const secrets = program.command('secrets').description('the Secrets of an installation on Kubernetes');
  secrets
    .command('make')
    .description('make those that are missing; one that is there is never written to')
    .option('--gateway <name>', 'Secret of the sealing keys and of the operator token')
    .option('--internal-tls <name>', 'Secret of the certificate of the internal port')
    .option('--internal-names <names>', 'host names of the internal port, separated by commas')
    .option('--demo <name>', 'Secret of the Postgres and Redis of a trial')
    .option('--demo-postgres-host <host>', 'where that Postgres is')
    .option('--demo-redis-host <host>', 'where that Redis is')
    .addHelpText('after', '\nIn the namespace of the service account, or of the context of KUBECONFIG.\n')
    .action(async (given: Given) => {
      const { runMakeSecrets } = await import('./secrets/run.js');
      process.exitCode = await runMakeSecrets(given);
    });
}

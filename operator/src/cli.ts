import type { Command } from 'commander';
import { registerInstances } from './cli/instances.js';
import { registerPair } from './cli/pair.js';
import { registerSecrets } from './cli/secrets.js';

/** Registers the commands of this workspace. Each command loads its code only when it runs. */
export function register(program: Command): void {
  registerOperator(program);
  registerSecrets(program);
  registerInstances(program);
  registerPair(program);
}

function registerOperator(program: Command): void {
  program
    .command('operator')
    .description('run the operator, which runs one engine per Instance resource')
    .addHelpText('after', '\nSettings are environment variables (docs/configuration.md).\n')
    .action(async () => {
      const { runOperator } = await import('./cli/run-operator.js');
      await runOperator();
    });
}

import type { Command } from 'commander';

/** What a command needs is loaded when it runs: every `gwk` registers all of them. */
export function registerOperator(program: Command): void {
  program
    .command('operator')
    .description('run the operator: Instance resources become running engines')
    .action(async () => {
      const { runOperator } = await import('./run-operator.js');
      await runOperator();
    });
}

import type { Command } from 'commander';

/** Registers the command of this workspace. It loads its code only when it runs. */
export function register(program: Command): void {
  program
    .command('decoder')
    .description('run the decoder: decodes files for a worker, without secrets')
    .addHelpText('after', '\nSettings are environment variables (docs/configuration.md).\n')
    .action(async () => {
      const { runDecoder } = await import('./program.js');
      await runDecoder(process.env);
    });
}

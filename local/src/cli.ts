import type { Command } from 'commander';

export function register(program: Command): void {
  program
    .command('local')
    .description('the gateway on one machine')
    .command('up')
    .description('start everything here, Postgres and Redis included, and stop it at Ctrl-C (make run)')
    .addHelpText('after', '\nSettings are environment variables (docs/configuration.md).')
    .action(async () => {
      const { up } = await import('./supervisor/up.js');
      await up();
      process.exit();
    });
}

import type { Command } from 'commander';
import { localSettings } from '@gwk/core/config/local';

export function register(program: Command): void {
  program
    .command('local')
    .description('run the gateway on one machine')
    .command('up')
    .description('start all programs with Postgres and Redis, until Ctrl-C (make run)')
    .addHelpText('after', settingsHelp)
    .action(async () => {
      const { up } = await import('./supervisor/up.js');
      await up();
      process.exit();
    });
  program
    .command('console')
    .description(
      'print a link that signs in to the console of the gateway on this machine once, within 10 minutes',
    )
    .action(async () => {
      const { printConsoleLink } = await import('./supervisor/console-link.js');
      const { ACCOUNT } = await import('./supervisor/first-key.js');
      await printConsoleLink(ACCOUNT);
    });
}

function settingsHelp(): string {
  const lines = Object.values(localSettings).map(({ env, kind, doc }) => {
    const absent = kind.read(undefined);
    const value = absent.ok && absent.value !== undefined ? ` [${absent.value}]` : '';
    return `  ${env.padEnd(25)} ${doc}${value}`;
  });
  const more =
    'GWK_API_, GWK_WORKER_ and GWK_OPERATOR_ settings are passed to the programs (docs/configuration.md).';
  return ['', 'Environment variables:', ...lines, '', more].join('\n');
}

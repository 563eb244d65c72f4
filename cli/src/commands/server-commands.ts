import type { Command } from 'commander';
import { CliError } from '../errors.js';

/** Commands of the server's `gwk`, which connect to Postgres or run a program. A test compares them with its help. */
const OF_THE_SERVER = [
  ...[
    'api',
    'worker',
    'migrate',
    'openapi',
    'account',
    'key',
    'user',
    'audit',
    'policy',
    'contacts',
    'encryption',
  ],
  ...[
    'after-restore',
    'interactive-status',
    'network-version',
    'console',
    'decoder',
    'operator',
    'secrets',
    'engine',
  ],
  ...['local', 'network'],
];

/** Registers, hidden, each command that another one of the same name does not replace. */
export function registerServerCommands(program: Command): void {
  for (const name of OF_THE_SERVER)
    program
      .command(`${name} [words...]`, { hidden: true })
      .helpOption(false)
      .allowUnknownOption()
      .action(() => {
        throw new CliError(
          'usage',
          `gwk ${name} is part of the server. Run it there: kubectl -n <namespace> exec deploy/gwk-api -- gwk ${name} ...\n` +
            'Beside make run: node bin/gwk.js (docs/server-cli.md)',
        );
      });
}

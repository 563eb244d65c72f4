import type { Command } from 'commander';

/** Nothing but this is loaded for `gwk --help`. */
export function register(program: Command): void {
  program
    .command('engine')
    .description('serve one number: its connection, its sends in order, what it receives')
    .addHelpText(
      'after',
      '\nSettings are environment variables (docs/configuration.md). Ends by itself with:' +
        '\n   2  wrong settings' +
        '\n  10  fenced: another engine has the number' +
        '\n  11  unauthorized: the token is no longer good' +
        '\n  12  gone: the instance was deleted' +
        '\n  13  replaced: another connection took the number over\n',
    )
    .action(async () => {
      const { keepHeapSmall } = await import('./small-heap.js');
      keepHeapSmall();
      const { runEngine } = await import('./program.js');
      await runEngine(process.env);
    });
}

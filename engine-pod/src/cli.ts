import type { Command } from 'commander';

/** `gwk --help` loads only this file of the engine. */
export function register(program: Command): void {
  program
    .command('engine')
    .description('run the engine of one instance: its connection, its sends and what it receives')
    .addHelpText(
      'after',
      '\nSettings are environment variables (docs/configuration.md). Exit codes:' +
        '\n   2  invalid settings' +
        '\n  10  fenced: another engine holds the lease' +
        '\n  11  unauthorized: the token is no longer valid' +
        '\n  12  gone: the instance was deleted' +
        '\n  13  replaced: another connection uses the same credentials\n',
    )
    .action(async () => {
      const { keepHeapSmall } = await import('./small-heap.js');
      keepHeapSmall();
      const { runEngine } = await import('./program.js');
      await runEngine(process.env);
    });
}

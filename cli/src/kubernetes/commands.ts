import { InvalidArgumentError, Option, type Command } from 'commander';
import { addPairOptions, type PairOptions } from '@gwk/core/pairing/options';
import type * as Run from './run.js';
import type { LogOptions, ReportOptions, RestartOptions, StatusOptions, Where } from './run.js';

/** Commands for Instances on a cluster, by the rights of the user. Each loads its code only when it runs. */
export function registerKubernetes(parent: Command): void {
  registerStatus(parent);
  const named = (name: string, description: string) =>
    withWhere(parent.command(`${name} <name>`)).description(description);

  addPairOptions(named('pair', 'pair a phone: prints the QR code, or a code to type')).action(
    (name: string, options: PairOptions & Where) => run((commands) => commands.runPair(name, options)),
  );
  named('restart', 'stop the engine and wait until the next one works')
    .option('--force', 'also while the network refuses the client version')
    .action((name: string, options: RestartOptions) => run((commands) => commands.restart(name, options)));
  named('pause', 'stop the engine until `resume`; the phone stays linked').action(
    (name: string, where: Where) => run((commands) => commands.setPaused(name, true, where)),
  );
  named('resume', 'start the engine of a paused Instance').action((name: string, where: Where) =>
    run((commands) => commands.setPaused(name, false, where)),
  );
  named('logs', 'print the log of the engine')
    .option('-f, --follow', 'print new lines, also of the next engines')
    .option('--tail <lines>', 'lines from the end (default: all)', parseCount)
    .action((name: string, options: LogOptions) => run((commands) => commands.printLogs(name, options)));
  registerReport(parent);
}

function registerStatus(parent: Command): void {
  withWhere(parent.command('status [name]'))
    .description('what keeps an Instance from sending, and the next command; without a name, all')
    .option('-A, --all-namespaces', 'Instances of all namespaces')
    .addOption(new Option('-o, --output <format>', 'format').choices(['text', 'json']).default('text'))
    .action((name: string | undefined, options: StatusOptions) =>
      run((commands) => commands.printStatus(name, options)),
    );
}

function registerReport(parent: Command): void {
  withWhere(parent.command('report [name]'))
    .description('write a ZIP for support: resources, events, states, metrics and logs')
    .option('-A, --all-namespaces', 'Instances of all namespaces')
    .option('--file <path>', 'where to write it (default: gwk-report-<time>.zip)')
    .addOption(
      new Option('--include <kinds...>', 'what is hidden by default; secrets never').choices([
        'numbers',
        'names',
        'content',
      ]),
    )
    .action((name: string | undefined, options: ReportOptions) =>
      run((commands) => commands.writeReport(name, options)),
    );
}

function withWhere(command: Command): Command {
  return command
    .option('-n, --namespace <namespace>', 'namespace of the Instance (default: that of the context)')
    .option('--context <name>', 'context of the kubeconfig')
    .option('--kubeconfig <file>', 'kubeconfig to use instead of KUBECONFIG or ~/.kube/config');
}

function parseCount(value: string): number {
  if (!/^[0-9]{1,7}$/.test(value)) throw new InvalidArgumentError('a number');
  return Number(value);
}

async function run(command: (commands: typeof Run) => Promise<void>): Promise<void> {
  await command(await import('./run.js'));
}

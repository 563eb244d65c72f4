import { Option, type Command } from 'commander';
import type * as Commands from './instances/commands.js';

type CommandModule = typeof Commands;
type Terminal = Commands.Terminal;

export function registerInstances(program: Command): void {
  const instances = program
    .command('instances')
    .alias('instance')
    .description('manage Instance resources: apply, get, describe, delete');
  registerApply(instances);
  registerGet(instances);
  registerDescribe(instances);
  registerDelete(instances);
}

function registerApply(instances: Command): void {
  inNamespace(instances.command('apply'))
    .description('create or change instances from manifests')
    .requiredOption('-f, --filename <file|folder|->', 'manifests: a file, a folder, or - for standard input')
    .action((options: Commands.ApplyOptions) => run(({ apply }, terminal) => apply(terminal, options)));
}

function registerGet(instances: Command): void {
  inNamespace(instances.command('get'))
    .argument('[name]')
    .description('list instances, or show one')
    .option('-A, --all-namespaces', 'list all namespaces')
    .addOption(
      new Option('-o, --output <format>', 'output format').choices([
        'wide',
        'json',
        'yaml',
        'name',
      ] satisfies Commands.Output[]),
    )
    .option('-w, --watch', 'keep printing a line for each change')
    .action((name: string | undefined, options: Commands.GetOptions) =>
      run(({ get }, terminal) => get(terminal, name, options)),
    );
}

function registerDescribe(instances: Command): void {
  inNamespace(instances.command('describe'))
    .argument('<name>')
    .description('show one instance with its conditions, engine and events')
    .action((name: string, options: { namespace: string }) =>
      run(({ describeInstance }, terminal) => describeInstance(terminal, name, options)),
    );
}

function registerDelete(instances: Command): void {
  inNamespace(instances.command('delete'))
    .argument('<names...>')
    .description('delete instances and stop their engines')
    .option('--no-wait', 'do not wait until the instances are deleted')
    .action((names: string[], options: { namespace: string; wait: boolean }) =>
      run(({ remove }, terminal) => remove(terminal, names, options)),
    );
}

function inNamespace(command: Command): Command {
  return command.option('-n, --namespace <namespace>', 'namespace of the instances', 'default');
}

const TIMEOUT_MS = 15_000;

/** The commands' code is loaded only when one runs, because every `gwk` registers them. */
async function run(command: (commands: CommandModule, terminal: Terminal) => Promise<void>): Promise<void> {
  const [commands, { OperatorDesiredState }, { findTarget, runCommand }] = await Promise.all([
    import('./instances/commands.js'),
    import('@gwk/core/desired-state/desired-state'),
    import('./instances/target.js'),
  ]);
  await runCommand('instances', async () => {
    const target = findTarget(process.env, process.cwd());
    const state = new OperatorDesiredState({ ...target, timeoutMs: TIMEOUT_MS });
    await command(commands, { state, print: (text) => console.log(text), now: Date.now });
  });
}

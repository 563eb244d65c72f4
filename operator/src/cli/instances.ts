import { Option, type Command } from 'commander';
import type * as Commands from './instances/commands.js';

type CommandModule = typeof Commands;
type Terminal = Commands.Terminal;

export function registerInstances(program: Command): void {
  const instances = program
    .command('instances')
    .alias('instance')
    .description('Instance resources: apply, get, describe, delete');
  registerApply(instances);
  registerGet(instances);
  registerDescribe(instances);
  registerDelete(instances);
}

function registerApply(instances: Command): void {
  inNamespace(instances.command('apply'))
    .description('create instances, or change those that exist, as manifests say')
    .requiredOption(
      '-f, --filename <file|folder|->',
      'the manifests: a file, all files of a folder, or standard input',
    )
    .option('--force-conflicts', 'take over fields that somebody else has set')
    .action((options: Commands.ApplyOptions) => run(({ apply }, terminal) => apply(terminal, options)));
}

function registerGet(instances: Command): void {
  inNamespace(instances.command('get'))
    .argument('[name]')
    .description('list instances, or show one')
    .option('-A, --all-namespaces', 'of every namespace')
    .addOption(
      new Option('-o, --output <format>', 'more columns, or a document').choices([
        'wide',
        'json',
        'yaml',
        'name',
      ] satisfies Commands.Output[]),
    )
    .option('-w, --watch', 'go on with a line for every change')
    .action((name: string | undefined, options: Commands.GetOptions) =>
      run(({ get }, terminal) => get(terminal, name, options)),
    );
}

function registerDescribe(instances: Command): void {
  inNamespace(instances.command('describe'))
    .argument('<name>')
    .description('all about one instance: its conditions, its engine, what happened to it')
    .action((name: string, options: { namespace: string }) =>
      run(({ describeInstance }, terminal) => describeInstance(terminal, name, options)),
    );
}

function registerDelete(instances: Command): void {
  inNamespace(instances.command('delete'))
    .argument('<names...>')
    .description('delete instances: their engines stop, their numbers leave the gateway')
    .option('--no-wait', 'do not wait until they are gone')
    .action((names: string[], options: { namespace: string; wait: boolean }) =>
      run(({ remove }, terminal) => remove(terminal, names, options)),
    );
}

function inNamespace(command: Command): Command {
  return command.option('-n, --namespace <namespace>', 'where they are', 'default');
}

/** What the commands need is loaded when one runs: every `gwk` registers them. */
async function run(command: (commands: CommandModule, terminal: Terminal) => Promise<void>): Promise<void> {
  const [commands, { InstancesClient }, { findTarget, CliError }] = await Promise.all([
    import('./instances/commands.js'),
    import('./instances/client.js'),
    import('./instances/target.js'),
  ]);
  try {
    const client = new InstancesClient(findTarget(process.env, process.cwd()));
    await command(commands, { client, print: (text) => console.log(text), now: Date.now });
  } catch (error) {
    if (!(error instanceof CliError) && (error as Error).name !== 'ConfigError') throw error;
    process.stderr.write(`gwk instances: ${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}

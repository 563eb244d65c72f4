import { ConfigError } from '@gwk/core/config/load';
import { Option, type Command } from 'commander';
import { InstancesClient } from './instances/client.js';
import {
  apply,
  describeOne,
  get,
  OUTPUTS,
  remove,
  type GetOptions,
  type Terminal,
} from './instances/commands.js';
import { CliError, findTarget } from './instances/target.js';

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
    .action((options: Parameters<typeof apply>[1]) => run((terminal) => apply(terminal, options)));
}

function registerGet(instances: Command): void {
  inNamespace(instances.command('get'))
    .argument('[name]')
    .description('list instances, or show one')
    .option('-A, --all-namespaces', 'of every namespace')
    .addOption(new Option('-o, --output <format>', 'more columns, or a document').choices(OUTPUTS))
    .option('-w, --watch', 'go on with a line for every change')
    .action((name: string | undefined, options: GetOptions) =>
      run((terminal) => get(terminal, name, options)),
    );
}

function registerDescribe(instances: Command): void {
  inNamespace(instances.command('describe'))
    .argument('<name>')
    .description('all about one instance: its conditions, its engine, what happened to it')
    .action((name: string, options: { namespace: string }) =>
      run((terminal) => describeOne(terminal, name, options)),
    );
}

function registerDelete(instances: Command): void {
  inNamespace(instances.command('delete'))
    .argument('<names...>')
    .description('delete instances: their engines stop, their numbers leave the gateway')
    .option('--no-wait', 'do not wait until they are gone')
    .action((names: string[], options: { namespace: string; wait: boolean }) =>
      run((terminal) => remove(terminal, names, options)),
    );
}

function inNamespace(command: Command): Command {
  return command.option('-n, --namespace <namespace>', 'where they are', 'default');
}

async function run(command: (terminal: Terminal) => Promise<void>): Promise<void> {
  try {
    const client = new InstancesClient(findTarget(process.env, process.cwd()));
    await command({ client, print: (text) => console.log(text), now: Date.now });
  } catch (error) {
    if (!(error instanceof CliError) && !(error instanceof ConfigError)) throw error;
    process.stderr.write(`gwk instances: ${error.message}\n`);
    process.exitCode = 1;
  }
}

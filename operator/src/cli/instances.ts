import type { Command } from 'commander';
import type { OperatorDesiredState, Place } from '@gwk/core/desired-state/desired-state';
import type * as Commands from './instances/commands.js';

const NOTE = '\nOn Kubernetes use kubectl. Prints JSON.\n';

export function registerInstances(program: Command): void {
  const instances = program
    .command('instances')
    .description('Instance resources of the gateway on this machine')
    .addHelpText('after', NOTE);
  instances
    .command('list')
    .description('list all Instances')
    .action(() => run(({ listInstances }, state) => listInstances(state)));
  inNamespace(instances.command('get <name>'))
    .description('show an Instance with its conditions and its engine, by its name or id')
    .action((name: string, { namespace }: Where) =>
      run(({ getInstance }, state) => getInstance(state, { namespace, name })),
    );
  inNamespace(instances.command('delete <name>'))
    .description('delete an Instance, by its name or id; the operator ends its engine first')
    .action((name: string, { namespace }: Where) =>
      run(({ deleteInstance }, state) => deleteInstance(state, { namespace, name })),
    );
}

type Where = Pick<Place, 'namespace'>;

function inNamespace(command: Command): Command {
  return command.option('-n, --namespace <namespace>', 'namespace of the Instance', 'default');
}

/** The commands' code is loaded only when one runs, because every `gwk` registers them. */
async function run(
  command: (commands: typeof Commands, state: OperatorDesiredState) => Promise<unknown>,
): Promise<void> {
  const [commands, { CliError }, { findLocalOperator, runCommand }] = await Promise.all([
    import('./instances/commands.js'),
    import('@gwk/core/process/cli-error'),
    import('./local-operator.js'),
  ]);
  await runCommand('instances', async () => {
    const state = findLocalOperator(process.env);
    if (!state) throw new CliError('no gateway found on this machine; start one with make run');
    process.stdout.write(`${JSON.stringify(await command(commands, state), null, 2)}\n`);
  });
}

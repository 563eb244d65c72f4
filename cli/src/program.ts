import { Command } from 'commander';
import type { ProgramName } from './program-name.js';
import { VERSION } from './version.js';

/** Adds its commands to the given one. */
type CommandGroup = (parent: Command) => void;

/** Commands of `gwk`, in the order of its help. */
const GROUPS: readonly CommandGroup[] = [];

/** Commands of `kubectl gwk`, which are `gwk kubectl ...` too. */
const OF_KUBECTL: readonly CommandGroup[] = [];

export function createProgram(name: ProgramName): Command {
  const program = new Command(name)
    .version(VERSION)
    .enablePositionalOptions()
    .showHelpAfterError(`(${name} --help lists the commands)`);
  if (name === 'kubectl-gwk') {
    program.description('WhatsApp gateway: its instances on a cluster');
    for (const register of OF_KUBECTL) register(program);
    return program;
  }
  program.description('WhatsApp gateway: sends, messages, instances and events by its HTTP API');
  for (const register of GROUPS) register(program);
  if (OF_KUBECTL.length === 0) return program;
  const kubectl = program.command('kubectl').description('instances on a cluster, by the rights of kubectl');
  for (const register of OF_KUBECTL) register(kubectl);
  return program;
}

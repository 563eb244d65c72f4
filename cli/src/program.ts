import { Command } from 'commander';
import { registerCheck } from './commands/check.js';
import { registerCompletion } from './commands/completion.js';
import { registerDoctor } from './commands/doctor.js';
import { registerEvents } from './commands/events.js';
import { registerInstances } from './commands/instances.js';
import { registerMessages } from './commands/messages.js';
import { registerPair } from './commands/pair.js';
import { registerServerCommands } from './commands/server-commands.js';
import { registerKubernetes } from './kubernetes/commands.js';
import { registerProfiles } from './profiles/commands.js';
import type { ProgramName } from './program-name.js';
import { VERSION } from './version.js';
import { registerListen } from './webhooks/listen.js';
import { registerTrigger } from './webhooks/trigger.js';

/** Adds its commands to the given one. */
type CommandGroup = (parent: Command) => void;

function registerWebhooks(program: Command): void {
  const webhooks = program.command('webhooks').description('webhooks for a program on this machine');
  registerListen(webhooks);
  registerTrigger(webhooks);
}

/** Commands of `gwk`, in the order of its help. */
const GROUPS: readonly CommandGroup[] = [
  registerProfiles,
  registerMessages,
  registerInstances,
  registerPair,
  registerEvents,
  registerWebhooks,
  registerCheck,
  registerDoctor,
  registerCompletion,
  registerServerCommands,
];

/** Commands of `kubectl gwk`, which are `gwk kubectl ...` too. */
const OF_KUBECTL: readonly CommandGroup[] = [registerKubernetes];

export function createProgram(name: ProgramName): Command {
  const program = new Command(name)
    .version(VERSION)
    .exitOverride()
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

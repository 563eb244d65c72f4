import { callCommands } from './commands-calls.js';
import { chatCommands } from './commands-chat.js';
import { faultCommands } from './commands-faults.js';
import { lookCommands } from './commands-look.js';
import { mediaCommands } from './commands-media.js';
import { groupCommands } from './commands-groups.js';
import { peopleCommands } from './commands-people.js';

/** All commands of the control API. Each takes and returns one JSON object. */
export const commands = {
  ...peopleCommands,
  ...groupCommands,
  ...callCommands,
  ...chatCommands,
  ...faultCommands,
  ...lookCommands,
  ...mediaCommands,
};

export type Commands = typeof commands;
export type CommandName = keyof Commands;
export type ArgumentsOf<Name extends CommandName> = Parameters<Commands[Name]>[1];
export type AnswerOf<Name extends CommandName> = Awaited<ReturnType<Commands[Name]>>;

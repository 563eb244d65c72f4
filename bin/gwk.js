#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';

// An engine runs once per number: it loads nothing but its own workspace.
const parts =
  process.argv[2] === 'engine'
    ? ['@gwk/engine-pod/cli']
    : ['@gwk/api/cli', '@gwk/operator/cli', '@gwk/engine-pod/cli', '@gwk/local/cli', '@gwk/network/cli'];

function entryOf(part) {
  try {
    const path = fileURLToPath(import.meta.resolve(part));
    return existsSync(path) ? path : undefined;
  } catch (error) {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

const program = new Command('gwk').description(
  'A messaging gateway: numbers as resources, an engine for each, one HTTP API',
);
program.enablePositionalOptions().showHelpAfterError('(gwk --help lists the commands)');

const missing = [];
for (const part of parts) {
  const entry = entryOf(part);
  if (!entry) {
    missing.push(part.replace('/cli', ''));
    continue;
  }
  const { register } = await import(part);
  register(program);
}

const name = process.argv[2];
const known = program.commands.some((command) => command.name() === name || command.aliases().includes(name));
if (name && !name.startsWith('-') && name !== 'help' && !known && missing.length > 0) {
  process.stderr.write(
    `gwk: there is no command "${name}" here. Not part of this installation: ${missing.join(', ')}. ` +
      'In a source tree, build first (make build); in an image, use the one made for this command.\n',
  );
  process.exit(1);
}
await program.parseAsync();

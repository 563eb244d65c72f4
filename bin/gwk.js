#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';

// Engines and decoders load only their own workspace: there is one engine per instance, so its memory counts.
const ALONE = { engine: ['@gwk/engine-pod/cli'], decoder: ['@gwk/decoder/cli'] };
const ALL = ['api', 'decoder', 'operator', 'engine-pod', 'local', 'network'].map(
  (name) => `@gwk/${name}/cli`,
);
const parts = ALONE[process.argv[2]] ?? ALL;

function findEntry(part) {
  try {
    const path = fileURLToPath(import.meta.resolve(part));
    return existsSync(path) ? path : undefined;
  } catch (error) {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

const program = new Command('gwk').description(
  'Self-hosted WhatsApp gateway for Kubernetes: one HTTP API, one engine per phone number',
);
program.enablePositionalOptions().showHelpAfterError('(gwk --help lists the commands)');

const missing = [];
for (const part of parts) {
  const entry = findEntry(part);
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
    `gwk: unknown command "${name}". Not installed here: ${missing.join(', ')}. ` +
      'In a source tree, run make build first. Each image contains only its own program.\n',
  );
  process.exit(1);
}
await program.parseAsync();

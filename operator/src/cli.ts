import type { Command } from 'commander';
import { registerInstances } from './cli/instances.js';
import { registerPair } from './cli/pair.js';
import { registerOperator } from './cli/operator.js';
import { registerSecrets } from './cli/secrets.js';

export function register(program: Command): void {
  registerOperator(program);
  registerSecrets(program);
  registerInstances(program);
  registerPair(program);
}

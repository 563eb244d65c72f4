import type { Command } from 'commander';
import { registerInstances } from './cli/instances.js';
import { registerPair } from './cli/pair.js';
import { registerOperator } from './cli/operator.js';

export function register(program: Command): void {
  registerOperator(program);
  registerInstances(program);
  registerPair(program);
}

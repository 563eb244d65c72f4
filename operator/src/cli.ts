import type { Command } from 'commander';
import { registerOperator } from './cli/operator.js';

export function register(program: Command): void {
  registerOperator(program);
}

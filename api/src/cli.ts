import type { Command } from 'commander';
import { registerAccounts } from './cli/accounts.js';
import { registerAudit } from './cli/audit.js';
import { registerKeys } from './cli/keys.js';
import { registerPolicies } from './cli/policies.js';
import { registerPrograms } from './cli/programs.js';
import { registerRestored } from './cli/restored.js';
import { registerSealing } from './cli/sealing.js';
import { registerStatus } from './cli/status.js';

/** Nothing but commander is loaded for `gwk --help`: every action imports what it needs. */
export function register(program: Command): void {
  registerPrograms(program);
  registerAccounts(program);
  registerKeys(program);
  registerAudit(program);
  registerPolicies(program);
  registerSealing(program);
  registerRestored(program);
  registerStatus(program);
}

import type { Command } from 'commander';
import { registerAccounts } from './cli/accounts.js';
import { registerAudit } from './cli/audit.js';
import { registerKeys } from './cli/keys.js';
import { registerPolicies } from './cli/policies.js';
import { registerPrograms } from './cli/programs.js';
import { registerRestored } from './cli/after-restore.js';
import { registerSealing } from './cli/encryption.js';
import { registerStatus } from './cli/interactive-status.js';

/** Nothing but commander is loaded for `gwk --help`: every action imports what it needs. */
export function register(program: Command): void {
  registerActor(program);
  registerPrograms(program);
  registerAccounts(program);
  registerKeys(program);
  registerAudit(program);
  registerPolicies(program);
  registerSealing(program);
  registerRestored(program);
  registerStatus(program);
}

/** An image has no `env`: what `kubectl exec` starts is told by an option what a shell says by the variable. */
function registerActor(program: Command): void {
  program.option('--actor <name>', 'who gives the command, for the trail of changes (GWK_ACTOR)');
  program.hook('preAction', (root) => {
    const { actor } = root.opts<{ actor?: string }>();
    if (actor !== undefined) process.env['GWK_ACTOR'] = actor;
  });
}

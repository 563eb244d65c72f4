import type { Command } from 'commander';
import { registerAccounts } from './cli/accounts.js';
import { registerContacts } from './cli/contacts.js';
import { registerAudit } from './cli/audit.js';
import { registerKeys } from './cli/keys.js';
import { registerUsers } from './cli/users.js';
import { registerPolicies } from './cli/policies.js';
import { registerPrograms } from './cli/programs.js';
import { registerAfterRestore } from './cli/after-restore.js';
import { registerEncryption } from './cli/encryption.js';
import { registerInteractiveStatus } from './cli/interactive-status.js';
import { registerNetworkVersion } from './cli/network-version.js';

/** Registers the commands. Actions import their code, so `gwk --help` loads commander only. */
export function register(program: Command): void {
  registerActor(program);
  registerPrograms(program);
  registerAccounts(program);
  registerKeys(program);
  registerUsers(program);
  registerAudit(program);
  registerPolicies(program);
  registerContacts(program);
  registerEncryption(program);
  registerAfterRestore(program);
  registerInteractiveStatus(program);
  registerNetworkVersion(program);
}

/** `--actor` besides GWK_ACTOR: `kubectl exec` cannot set variables, and the images have no `env` program. */
function registerActor(program: Command): void {
  program.option(
    '--actor <name>',
    'your name for the audit log (default: GWK_ACTOR, else the user of the system)',
  );
  program.hook('preAction', (root) => {
    const { actor } = root.opts<{ actor?: string }>();
    if (actor !== undefined) process.env['GWK_ACTOR'] = actor;
  });
}

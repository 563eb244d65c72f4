import { Problem } from '@gwk/core/problems/problems';
import { AccountOut, AccountUpdate } from '../resources/console/account.js';
import { audit, byCaller } from '../accounts/audit-log.js';
import type { Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';
import type { Account } from '../generated/prisma/client.js';
import { operation } from '../http/operation.js';
import type { Services } from '../http/services.js';
import { readUsage, viewAccount } from '../accounts/account-view.js';
import { listFactors } from '../people/sign-in/sessions.js';

const PATH = '/console/api/account';

const getAccount = operation({
  name: 'getAccount',
  method: 'GET',
  path: PATH,
  summary: 'Show the account',
  scope: null,
  person: 'account:read',
  status: 200,
  result: AccountOut,
  async handle({ caller, services }) {
    const row = await services.db.account.findUniqueOrThrow({ where: { id: caller.accountId } });
    return { status: 200, body: await view(row, caller, services) };
  },
});

const updateAccount = operation({
  name: 'updateAccount',
  method: 'PATCH',
  path: PATH,
  summary: 'Change the account',
  description: 'Its name is fixed: Instance resources name their account by it.',
  scope: null,
  person: 'account:write',
  unrestricted: true,
  status: 200,
  body: AccountUpdate,
  result: AccountOut,
  async handle({ caller, session, body, services }) {
    const { requires_mfa: requiresMfa } = body;
    if (requiresMfa === true) await requireOwnFactor(services.db, session!.userId);
    const row = await services.db.$transaction(async (tx) => {
      await audit(tx, byCaller(caller, 'account.update', caller.accountId, body));
      return tx.account.update({
        where: { id: caller.accountId },
        data: { ...(requiresMfa !== undefined && { requiresMfa }) },
      });
    });
    services.sessions.clear();
    return { status: 200, body: await view(row, caller, services) };
  },
});

/** Otherwise the person could not undo it. @throws Problem `mfa-not-verified` */
async function requireOwnFactor(db: Database, id: string): Promise<void> {
  const user = await db.user.findUniqueOrThrow({ where: { id } });
  if ((await listFactors(db, user)).length === 0) throw new Problem('mfa-not-verified');
}

async function view(row: Account, caller: Caller, { db, config }: Services): Promise<AccountOut> {
  return {
    ...viewAccount(row, config),
    suspended: row.suspendedAt !== null,
    usage: caller.instances === null ? (await readUsage(db, [row.id]))(row.id) : null,
  };
}

export const accountOperations = [getAccount, updateAccount];

import { toPublicId } from '@gwk/core/ids';
import { Problem } from '@gwk/core/problems';
import { AccountOut, AccountUpdate } from '@gwk/core/resources/console-account';
import { audit, byCaller } from '../accounts/audit-log.js';
import type { Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';
import type { Account } from '../generated/prisma/client.js';
import { operation } from '../http/operation.js';
import type { ApiConfig, Services } from '../http/services.js';

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
  status: 200,
  body: AccountUpdate,
  result: AccountOut,
  async handle({ caller, session, body, services }) {
    const { requires_mfa: requiresMfa } = body;
    if (requiresMfa === true) await requireOwnTotp(services.db, session!.userId);
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
async function requireOwnTotp(db: Database, id: string): Promise<void> {
  const user = await db.user.findUniqueOrThrow({ where: { id } });
  if (user.totpConfirmedAt === null) throw new Problem('mfa-not-verified');
}

async function view(row: Account, caller: Caller, { db, config }: Services): Promise<AccountOut> {
  return {
    id: toPublicId('account', row.id),
    name: row.name,
    requires_mfa: row.requiresMfa,
    suspended: row.suspendedAt !== null,
    created_at: row.createdAt.toISOString(),
    limits: decideLimits(row, config),
    usage: caller.instances === null ? await readUsage(db, row.id) : null,
  };
}

const decideLimits = (row: Account, config: ApiConfig): AccountOut['limits'] => ({
  instances: row.maxInstances ?? config.maxInstances,
  media_bytes: Number(row.maxMediaBytes ?? config.accountMediaBytes),
  media_files: row.maxMediaFiles ?? config.accountMediaFiles,
  event_bytes: Number(row.maxEventBytes ?? config.accountEventBytes),
  requests_per_minute: row.requestsPerMinute ?? config.requestsPerMinute,
});

async function readUsage(db: Database, accountId: string): Promise<AccountOut['usage']> {
  const stored = await db.accountUsage.findUnique({ where: { accountId } });
  return {
    instances: await db.instance.count({ where: { accountId, kind: 'web', deletedAt: null } }),
    media_bytes: Number(stored?.mediaBytes ?? 0),
    media_files: stored?.mediaFiles ?? 0,
    event_bytes: Number(stored?.eventBytes ?? 0),
  };
}

export const accountOperations = [getAccount, updateAccount];

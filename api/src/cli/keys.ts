import { fromPublicId, newUuid, toPublicId } from '@gwk/core/ids/ids';
import { SCOPES, type Scope } from '@gwk/core/scopes';
import type { Command } from 'commander';
import type { ApiKey, Prisma } from '../generated/prisma/client.js';
import { findAccount, audit, CommandError, printChange, printResult } from './run.js';

/** `gwk key ...` */
interface Creation {
  account: string;
  scopes: string;
  instances?: string;
  name: string;
}

export function registerKeys(program: Command): void {
  const key = program
    .command('key')
    .description('API keys')
    .addHelpText(
      'after',
      '\nDATABASE_URL names the database. Prints JSON. Replicas apply a revocation within 2 s.\n',
    );

  key
    .command('create')
    .description('create a key; it is shown once and stored as a hash')
    .requiredOption('--account <name>', 'account that the key gives access to (required)')
    .requiredOption(
      '--scopes <list>',
      `"all", or some of these, separated by commas (required): ${SCOPES.join(', ')}`,
    )
    .option('--instances <ids>', 'restrict the key to these instances (ins_...), separated by commas')
    .option('--name <name>', 'name of the key', '')
    .action((creation: Creation) =>
      printChange('key create', async (tx) => {
        const { newApiKey } = await import('../accounts/api-keys.js');
        return createKey(tx, creation, newApiKey());
      }),
    );

  key
    .command('list')
    .description('list keys, without their values')
    .option('--account <name>', 'only keys of this account')
    .action(({ account }: { account?: string }) =>
      printResult('key list', async (db) => {
        const rows = await db.apiKey.findMany({
          where: account === undefined ? {} : { accountId: (await findAccount(db, account)).id },
          include: { account: { select: { name: true } }, instances: { select: { instanceId: true } } },
          orderBy: { id: 'asc' },
        });
        return rows.map(shown);
      }),
    );

  key
    .command('revoke <key_id>')
    .description('revoke a key')
    .action((id: string) => printChange('key revoke', (tx) => revokeKey(tx, id)));
}

function readScopes(list: string): Scope[] {
  if (list === 'all') return [...SCOPES];
  const given = list.split(',').map((scope) => scope.trim());
  const unknown = given.filter((scope) => !(SCOPES as readonly string[]).includes(scope));
  if (unknown.length > 0) {
    throw new CommandError(`unknown scopes: ${unknown.join(', ')} (valid scopes: ${SCOPES.join(', ')})`);
  }
  return [...new Set(given)] as Scope[];
}

async function createKey(
  tx: Prisma.TransactionClient,
  creation: Creation,
  made: { key: string; hash: Buffer },
) {
  const account = await findAccount(tx, creation.account);
  const scopes = readScopes(creation.scopes);
  const instances = await readInstances(tx, account.id, creation.instances);
  const row = await tx.apiKey.create({
    data: {
      id: newUuid(),
      accountId: account.id,
      name: creation.name,
      hash: new Uint8Array(made.hash),
      scopes,
      restricted: instances !== null,
      instances: { create: (instances ?? []).map((instanceId) => ({ instanceId })) },
    },
  });
  const detail = { scopes, ...(instances && { instances }) };
  await audit(tx, { accountId: account.id, action: 'key.create', subject: row.id, detail });
  return {
    id: toPublicId('apiKey', row.id),
    api_key: made.key,
    scopes,
    ...(instances && { instance_ids: instances.map((id) => toPublicId('instance', id)) }),
  };
}

/** Null: not restricted. */
async function readInstances(
  tx: Prisma.TransactionClient,
  accountId: string,
  list: string | undefined,
): Promise<string[] | null> {
  if (list === undefined) return null;
  const given = list.split(',').map((id) => id.trim());
  const ids = given.map((id) => fromPublicId('instance', id));
  const wanted = ids.filter((id): id is string => id !== null);
  const rows = await tx.instance.findMany({
    where: { id: { in: wanted }, accountId, deletedAt: null },
    select: { id: true },
  });
  const known = new Set(rows.map(({ id }) => id));
  const unknown = given.filter((_, index) => !known.has(ids[index] ?? ''));
  if (unknown.length > 0) throw new CommandError(`instances not found in the account: ${unknown.join(', ')}`);
  return [...known];
}

async function revokeKey(tx: Prisma.TransactionClient, publicId: string) {
  const id = fromPublicId('apiKey', publicId);
  const row = id === null ? null : await tx.apiKey.findUnique({ where: { id } });
  if (!row) throw new CommandError(`key "${publicId}" not found (gwk key list)`);
  const revokedAt = row.revokedAt ?? new Date();
  if (row.revokedAt === null) {
    await audit(tx, { accountId: row.accountId, action: 'key.revoke', subject: row.id });
    await tx.apiKey.update({ where: { id: row.id }, data: { revokedAt } });
  }
  return { id: publicId, revoked_at: revokedAt.toISOString() };
}

function shown(row: ApiKey & { account: { name: string }; instances: { instanceId: string }[] }) {
  return {
    id: toPublicId('apiKey', row.id),
    account: row.account.name,
    name: row.name,
    scopes: row.scopes,
    instance_ids: row.restricted
      ? row.instances.map(({ instanceId }) => toPublicId('instance', instanceId))
      : null,
    created_at: row.createdAt.toISOString(),
    revoked_at: row.revokedAt?.toISOString() ?? null,
  };
}

import { Problem } from '@gwk/core/problems/problems';
import { PageQuery } from '@gwk/core/resources/common';
import {
  PlatformAccountCreate,
  PlatformAccountOut,
  PlatformAccountUpdate,
} from '../../resources/console/platform.js';
import {
  AccountChangeRefused,
  changeAccount,
  createAccount,
  readOwnLimits,
} from '../../accounts/account-changes.js';
import type { Account, Prisma } from '../../generated/prisma/client.js';
import { pageSchema } from '../../http/cursor.js';
import { operation } from '../../http/operation.js';
import type { Services } from '../../http/services.js';
import {
  accountSearch,
  matchAccounts,
  readUsage,
  viewAccount,
  type Usage,
} from '../../accounts/account-view.js';

const PATH = '/console/api/platform/accounts';

const AccountQuery = PageQuery.extend({
  search: accountSearch(),
});

const listAccounts = operation({
  name: 'listPlatformAccounts',
  method: 'GET',
  path: PATH,
  summary: 'List all accounts with their limits and use, newest first',
  scope: null,
  person: 'platform-admin',
  status: 200,
  query: AccountQuery,
  result: pageSchema(PlatformAccountOut, 'PlatformAccountPage'),
  async handle({ session, query, services: { db, cursors, config } }) {
    let usage: (id: string) => Usage;
    return cursors.page(
      { accountId: session!.userId, route: `GET ${PATH}`, query },
      async ({ before, limit }) => {
        const rows = await db.account.findMany({
          where: { AND: [matchAccounts(query.search), before === null ? {} : { id: { lt: before } }] },
          orderBy: { id: 'desc' },
          take: limit,
        });
        usage = await readUsage(
          db,
          rows.map(({ id }) => id),
        );
        return rows;
      },
      (row) => view(row, usage(row.id), config),
    );
  },
});

const getAccount = operation({
  name: 'getPlatformAccount',
  method: 'GET',
  path: `${PATH}/{account_id}`,
  summary: 'Show an account',
  scope: null,
  person: 'platform-admin',
  status: 200,
  result: PlatformAccountOut,
  async handle({ params, services }) {
    const row = await services.db.account.findUnique({ where: { id: params['account_id']! } });
    if (!row) throw new Problem('not-found');
    return { status: 200, body: await show(row, services) };
  },
});

const create = operation({
  name: 'createPlatformAccount',
  method: 'POST',
  path: PATH,
  summary: 'Create an account',
  description: 'Its name is unique; a name in use is a `validation-error` with the code `taken`.',
  scope: null,
  person: 'platform-admin',
  status: 201,
  body: PlatformAccountCreate,
  result: PlatformAccountOut,
  async handle({ session, body, services }) {
    const make = (tx: Prisma.TransactionClient) => createAccount(tx, `user:${session!.userId}`, body);
    const row = await services.db.$transaction(make).catch(toProblem);
    return { status: 201, body: await show(row, services) };
  },
});

const update = operation({
  name: 'updatePlatformAccount',
  method: 'PATCH',
  path: `${PATH}/{account_id}`,
  summary: 'Rename, limit, suspend or resume an account, or allow namespaces',
  description:
    'Holds within 2 s on every replica. `namespaces` replaces the list. A suspended account can read, but not send; queued messages wait. Instance resources name their account, so an account with instances keeps its name: a `validation-error` with the code `in-use`.',
  scope: null,
  person: 'platform-admin',
  status: 200,
  body: PlatformAccountUpdate,
  result: PlatformAccountOut,
  async handle({ session, params, body, services }) {
    const { db, apiKeys, sessions } = services;
    const id = params['account_id']!;
    const row = await db
      .$transaction(async (tx) => {
        if (!(await tx.account.findUnique({ where: { id } }))) throw new Problem('not-found');
        return changeAccount(tx, `user:${session!.userId}`, { id, change: () => body });
      })
      .catch(toProblem);
    apiKeys.clear();
    sessions.clear();
    return { status: 200, body: await show(row, services) };
  },
});

function toProblem(error: unknown): never {
  if (!(error instanceof AccountChangeRefused)) throw error;
  const { code, message } = error;
  throw new Problem('validation-error', { errors: [{ path: 'name', code, message }] });
}

const show = async (row: Account, { db, config }: Services): Promise<PlatformAccountOut> =>
  view(row, (await readUsage(db, [row.id]))(row.id), config);

const view = (row: Account, usage: Usage, config: Services['config']): PlatformAccountOut => ({
  ...viewAccount(row, config),
  suspended_at: row.suspendedAt?.toISOString() ?? null,
  namespaces: row.namespaces,
  own_limits: readOwnLimits(row),
  usage,
});

export const platformAccountOperations = [listAccounts, getAccount, create, update];

import { fromPublicId, toPublicId } from '@gwk/core/ids/ids';
import { idText, PageQuery, text } from '@gwk/core/resources/common';
import { PlatformInstanceOut, PlatformOverviewOut } from '../../resources/console/platform.js';
import { INSTANCE_STATES, type InstanceState } from '@gwk/core/states';
import { z } from 'zod';
import type { Database, Queryable } from '../../database/database.js';
import type { Prisma } from '../../generated/prisma/client.js';
import { pageSchema } from '../../http/cursor.js';
import { operation } from '../../http/operation.js';
import { readPrograms } from '../../platform/presence.js';

type Overview = z.output<typeof PlatformOverviewOut>;

const PATH = '/console/api/platform';
const WITH_ACCOUNT = { include: { account: { select: { name: true } }, lease: true } } as const;
type InstanceRow = Prisma.InstanceGetPayload<typeof WITH_ACCOUNT>;

const InstanceQuery = PageQuery.extend({
  state: z.enum(INSTANCE_STATES).optional(),
  version: text(1, 100).optional().meta({ description: 'Version of the running engine.' }),
  account_id: idText().optional(),
});

const getPlatformOverview = operation({
  name: 'getPlatformOverview',
  method: 'GET',
  path: `${PATH}/overview`,
  summary: 'Count accounts and instances, and show the versions that run',
  scope: null,
  person: 'platform-admin',
  status: 200,
  result: PlatformOverviewOut,
  async handle({ services: { db, redis, redisKeys } }) {
    const [total, suspended, instances, programs] = await Promise.all([
      db.account.count(),
      db.account.count({ where: { suspendedAt: { not: null } } }),
      countInstances(db),
      readPrograms(redis, redisKeys),
    ]);
    const body: Overview = { accounts: { total, suspended }, instances, programs };
    return { status: 200, body, headers: ['Cache-Control', 'no-store'] };
  },
});

const countInstances = (db: Queryable) =>
  db.$queryRaw<Overview['instances']>`
    SELECT i.state, CASE WHEN l.holder IS NOT NULL AND l.expires_at > now() THEN l.version END AS engine_version,
      count(*)::integer AS count
    FROM instances i LEFT JOIN instance_leases l ON l.instance_id = i.id
    WHERE i.deleted_at IS NULL GROUP BY 1, 2 ORDER BY 1, 2`;

const listPlatformInstances = operation({
  name: 'listPlatformInstances',
  method: 'GET',
  path: `${PATH}/instances`,
  summary: 'List the instances of all accounts, newest first',
  scope: null,
  person: 'platform-admin',
  status: 200,
  query: InstanceQuery,
  result: pageSchema(PlatformInstanceOut, 'PlatformInstancePage'),
  async handle({ session, query, services: { db, cursors } }) {
    return cursors.page(
      { accountId: session!.userId, route: `GET ${PATH}/instances`, query },
      ({ before, limit }) => readInstances(db, query, { before, limit }),
      view,
    );
  },
});

type Filters = z.output<typeof InstanceQuery>;

function readInstances(
  db: Database,
  { state, version, account_id: account }: Filters,
  { before, limit }: { before: string | null; limit: number },
): Promise<InstanceRow[]> {
  const accountId = account === undefined ? undefined : fromPublicId('account', account);
  if (accountId === null) return Promise.resolve([]);
  return db.instance.findMany({
    where: {
      deletedAt: null,
      ...(before !== null && { id: { lt: before } }),
      ...(accountId !== undefined && { accountId }),
      ...(state !== undefined && { state }),
      ...(version !== undefined && {
        lease: { version, holder: { not: null }, expiresAt: { gt: new Date() } },
      }),
    },
    ...WITH_ACCOUNT,
    orderBy: { id: 'desc' },
    take: limit,
  });
}

function view({ account, lease, ...row }: InstanceRow): z.output<typeof PlatformInstanceOut> {
  const running = lease?.holder && lease.expiresAt && lease.expiresAt > new Date() ? lease : null;
  return {
    id: toPublicId('instance', row.id),
    name: row.name,
    kind: row.kind,
    account_id: toPublicId('account', row.accountId),
    account_name: account.name,
    state: row.state as InstanceState,
    state_changed_at: row.stateChangedAt.toISOString(),
    engine_version: running?.version ?? null,
    engine_pod: running?.pod ?? null,
  };
}

export const platformInstanceOperations = [getPlatformOverview, listPlatformInstances];

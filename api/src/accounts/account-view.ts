import { fromPublicId, toPublicId } from '@gwk/core/ids/ids';
import { text } from '@gwk/core/resources/common';
import type { AccountOut } from '../resources/console/account.js';
import type { apiSettings } from '../config/api.js';
import type { ConfigOf } from '@gwk/core/config/load';
import type { Database } from '../database/database.js';
import type { Account, Prisma } from '../generated/prisma/client.js';

type ApiConfig = ConfigOf<typeof apiSettings>;

/** The fields of an account that its members and the administrators of the platform see. */
export const viewAccount = (row: Account, config: ApiConfig) => ({
  id: toPublicId('account', row.id),
  name: row.name,
  requires_mfa: row.requiresMfa,
  created_at: row.createdAt.toISOString(),
  limits: decideLimits(row, config),
});

/** The limits in effect. */
const decideLimits = (row: Account, config: ApiConfig): AccountOut['limits'] => ({
  instances: row.maxInstances ?? config.maxInstances,
  media_bytes: Number(row.maxMediaBytes ?? config.accountMediaBytes),
  media_files: row.maxMediaFiles ?? config.accountMediaFiles,
  event_bytes: Number(row.maxEventBytes ?? config.accountEventBytes),
  requests_per_minute: row.requestsPerMinute ?? config.requestsPerMinute,
});

export type Usage = NonNullable<AccountOut['usage']>;
const UNUSED: Usage = { instances: 0, media_bytes: 0, media_files: 0, event_bytes: 0 };

/** Reads what accounts use. */
export async function readUsage(
  db: Pick<Database, 'accountUsage' | 'instance'>,
  accountIds: string[],
): Promise<(accountId: string) => Usage> {
  const accountId = { in: accountIds };
  const [stored, counted] = await Promise.all([
    db.accountUsage.findMany({ where: { accountId } }),
    db.instance.groupBy({
      by: ['accountId'],
      where: { accountId, kind: 'web', deletedAt: null },
      _count: true,
    }),
  ]);
  const usage = new Map(accountIds.map((id) => [id, { ...UNUSED }]));
  for (const row of stored)
    Object.assign(usage.get(row.accountId)!, {
      media_bytes: Number(row.mediaBytes),
      media_files: row.mediaFiles,
      event_bytes: Number(row.eventBytes),
    });
  for (const row of counted) usage.get(row.accountId)!.instances = row._count;
  return (id) => usage.get(id) ?? UNUSED;
}

/** A query parameter that finds accounts. */
export const accountSearch = () =>
  text(1, 80).optional().meta({ description: 'A part of the name in any case, or the id of an account.' });

/** Accounts with a text in their name, or with this id. */
export function matchAccounts(search: string | undefined): Prisma.AccountWhereInput {
  if (search === undefined) return {};
  const id = fromPublicId('account', search);
  return id === null ? { name: { contains: search, mode: 'insensitive' } } : { id };
}

import type { ConfigOf } from '@gwk/core/config/load';
import type { accountLimitSettings } from '../config/account-limits.js';
import { Problem } from '@gwk/core/problems/problems';
import type { Queryable } from '../database/database.js';

/** Configured limits; an account can have its own. */
export type AccountLimits = ConfigOf<typeof accountLimitSettings>;

/**
 * Files that an account uploads are refused at its limit. Files that come from the network, or that messages need which were
 * accepted before, are stored up to a multiple of it: the limit of uploads must not lose them.
 */
const FACTORS = { upload: 1, unasked: 4 };
export type FileOrigin = keyof typeof FACTORS;

/** Arguments of gwk_storage_fits after account and size. */
export const limitsFor = (limits: AccountLimits, origin: FileOrigin): [number, number, number] => [
  limits.accountMediaBytes,
  limits.accountMediaFiles,
  FACTORS[origin],
];

/** The account stores as much as its limits allow. */
export class StorageFull extends Error {
  override name = 'StorageFull';
}

/** Bytes of an event beside its text: ids, names, times. */
const EVENT_OVERHEAD = 500;

/**
 * Counts a simulated message before its event exists. The worker's hourly count replaces the sum.
 * @throws Problem `storage-limit-reached`
 */
export async function countSandboxMessage(
  db: Queryable,
  { accountId, text, limits }: { accountId: string; text: string; limits: AccountLimits },
): Promise<void> {
  const bytes = Buffer.byteLength(text) + EVENT_OVERHEAD;
  const counted = await db.$executeRaw`
    INSERT INTO account_usage AS u (account_id, events, event_bytes)
    SELECT a.id, 1, ${bytes}::bigint FROM accounts a
    WHERE a.id = ${accountId}::uuid AND ${bytes}::bigint <= coalesce(a.max_event_bytes, ${limits.accountEventBytes}::bigint)
    ON CONFLICT (account_id) DO UPDATE
    SET events = u.events + excluded.events, event_bytes = u.event_bytes + excluded.event_bytes
    WHERE u.event_bytes + excluded.event_bytes <= (
      SELECT coalesce(a.max_event_bytes, ${limits.accountEventBytes}::bigint) FROM accounts a WHERE a.id = u.account_id)`;
  if (counted === 0) throw new Problem('storage-limit-reached');
}

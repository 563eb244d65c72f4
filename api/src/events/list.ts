import type { EventListQuery } from '../resources/event.js';
import type { z } from 'zod';
import type { Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';
import {
  callRange,
  lowestIdSince,
  pageNewest,
  type IdRange,
  type PageRange,
} from '../database/keyset-pages.js';
import { selectFields } from '../database/model-columns.js';
import { Prisma, type Event } from '../generated/prisma/client.js';
import { filterConversation, filterInstances } from '../accounts/find-instance.js';

type EventFilters = Omit<z.output<typeof EventListQuery>, 'limit' | 'cursor'>;

const COLUMNS = selectFields(Object.values(Prisma.EventScalarFieldEnum), 'm');

/**
 * Ciphertext of one page. 200 received texts of 65,536 characters have up to 80 MB, which would hold the event loop for
 * more than a second. 200 usual events have 0.3 MB.
 */
const MAX_PAGE_BYTES = 1_000_000;

/** Whether the last row reached the size of a page. That row belongs to the next page. */
export const isFullPage = (rows: readonly Event[]): boolean =>
  rows.length > 1 && rows.reduce((sum, { dataSealed }) => sum + dataSealed.byteLength, 0) >= MAX_PAGE_BYTES;

/** Returns at most `limit` events, newest first, and none after the one that fills the page. */
export async function listEvents(
  db: Database,
  caller: Caller,
  { type, instance_id, conversation: given, since }: EventFilters,
  page: PageRange,
): Promise<Event[]> {
  const instances = await filterInstances(db, caller, instance_id);
  const conversation = await filterConversation(db, caller, given);
  const [name, scope] = conversation
    ? ['gwk_events_of_conversation', Prisma.sql`${conversation}::uuid, ${instances}::uuid[], ${type ?? null}`]
    : instances
      ? ['gwk_events_of_instances', Prisma.sql`${instances}::uuid[], ${type ?? null}`]
      : ['gwk_events_of_account', Prisma.sql`${caller.accountId}::uuid, ${type ?? null}`];
  // Postgres knows the sizes without reading the data, so it never reads the data of rows that do not fit.
  const read = (range: IdRange, limit: number) => db.$queryRaw<Event[]>`
    SELECT ${COLUMNS} FROM (
      SELECT n.*, sum(octet_length(n.data_sealed)) OVER (ORDER BY n.id DESC) - octet_length(n.data_sealed) AS bytes_before
      FROM ${callRange(name, scope, range, limit)} AS n
    ) AS m WHERE m.bytes_before < ${MAX_PAGE_BYTES} ORDER BY m.id DESC`;
  return pageNewest({ ...page, from: lowestIdSince(since) }, read, { isFull: isFullPage });
}

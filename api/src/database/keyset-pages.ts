import { lowestUuidAt, parseUuidTime } from '@gwk/core/ids/ids';
import type { Database } from './database.js';
import { Prisma } from '../generated/prisma/client.js';

/** Ids from `from` (included; null: from the first) to `before` (excluded). */
export interface IdRange {
  from: string | null;
  before: string;
}

export interface PageRange {
  /** Newest id (excluded); null: from the newest. */
  before: string | null;
  limit: number;
}

export interface NewestPage extends PageRange {
  /** Oldest id (included); null: no bound. */
  from: string | null;
}

const DAY_MS = 86_400_000;
/** Days that the first and the second query of a page go back; a third query reads the rest. */
const DAYS_BEFORE = [1, 8];

/**
 * Upper end of the first page. The clocks of other API processes may be ahead; rows dated more than a day ahead are listed
 * later.
 */
export const upperBound = (before: string | null, now = Date.now()): string =>
  before ?? lowestUuidAt((Math.floor(now / DAY_MS) + 2) * DAY_MS);

/**
 * Reads the newest rows of a table that is partitioned by day (UTC). A query opens every partition that its id range does
 * not exclude, which may be a hundred. So the first query reads the last two days, and further queries go back if the page
 * is not full.
 * @param read reads the newest rows of an id range
 * @param options `isFull`: whether `read` stopped before the limit, because of the size of its rows
 */
export async function pageNewest<T>(
  { from, before, limit }: NewestPage,
  read: (range: IdRange, limit: number) => Promise<T[]>,
  options: { now?: number; isFull?: (rows: readonly T[]) => boolean } = {},
): Promise<T[]> {
  const { now, isFull } = { now: Date.now(), isFull: () => false, ...options };
  const day = Math.floor((before === null ? now : parseUuidTime(before)) / DAY_MS);
  const rows: T[] = [];
  let until = upperBound(before, now);
  for (const days of [...DAYS_BEFORE, null]) {
    const low = days === null ? null : lowestUuidAt((day - days) * DAY_MS);
    const isLast = low === null || (from !== null && low <= from);
    const start = isLast ? from : low;
    rows.push(...(await read({ from: start, before: until }, limit - rows.length)));
    if (isLast || rows.length >= limit || isFull(rows)) break;
    until = low;
  }
  return rows;
}

/** The bound `from` of a filter `since`. */
export const lowestIdSince = (since: string | undefined): string | null =>
  since === undefined ? null : lowestUuidAt(Date.parse(since));

const LOWEST = lowestUuidAt(0);

/**
 * Calls the SQL function that reads an id range of a table partitioned by day (UTC): the newest rows with ids from `low`
 * (included) to `high` (excluded). A filter that is NULL matches all rows.
 * @param given arguments before the range
 */
export const callRange = (
  name: string,
  given: Prisma.Sql,
  { from, before }: IdRange,
  limit: number,
): Prisma.Sql =>
  Prisma.sql`${Prisma.raw(name)}(${given}, ${from ?? LOWEST}::uuid, ${before}::uuid, ${limit}::integer)`;

/** Reads an id range with a SQL function. */
export const queryRange =
  <T>(db: Database, columns: Prisma.Sql, name: string, given: Prisma.Sql) =>
  (range: IdRange, limit: number): Promise<T[]> =>
    db.$queryRaw<T[]>`SELECT ${columns} FROM ${callRange(name, given, range, limit)} AS m`;

/** Reads the newest of rare rows with one query, because they have an index of their own or known days. */
export const pageNewestOfFew = <T>(
  { from, before, limit }: NewestPage,
  read: (range: IdRange, limit: number) => Promise<T[]>,
): Promise<T[]> => read({ from, before: upperBound(before) }, limit);

/** Maximum number of queue entries per query. */
const MAX_QUEUED = 2_000;

/**
 * Reads the newest rows whose ids are in a queue. Rows that have left the queue meanwhile are skipped and replaced by the next
 * ones, so only the end of the queue ends the list.
 */
export async function pageNewestQueued<T>(
  { before, limit }: PageRange,
  queued: (before: string | null, amount: number) => Promise<{ id: string }[]>,
  read: (ids: string[]) => Promise<T[]>,
): Promise<T[]> {
  const rows: T[] = [];
  let until = before;
  for (let amount = limit; rows.length < limit; amount = Math.min(amount * 4, MAX_QUEUED)) {
    const ids = (await queued(until, amount)).map(({ id }) => id);
    if (ids.length > 0) rows.push(...(await read(ids)));
    if (ids.length < amount) break;
    until = ids.at(-1)!;
  }
  return rows.slice(0, limit);
}

import { lowestUuidAt, parseUuidTime } from '@gwk/core/ids';
import type { Database } from './database.js';
import { Prisma } from '../generated/prisma/client.js';

/** Ids from one on (included) until another (left out); `from` null: from the first one on. */
export interface Span {
  from: string | null;
  before: string;
}

export interface NewestPage {
  /** No older than this one; null: as old as there are. */
  from: string | null;
  /** Older than this one; null: from the newest on. */
  before: string | null;
  limit: number;
}

const DAY_MS = 86_400_000;
/** With so many days before its own each look at a page's rows begins; the last look has all that are left. */
const DAYS_BEFORE = [1, 8];

/**
 * Where a page can begin: ids are made by the clocks of API processes, which may be ahead of this one. What a clock has
 * dated more than a day ahead is listed when its day is near.
 */
export const upperEnd = (before: string | null, now = Date.now()): string =>
  before ?? lowestUuidAt((Math.floor(now / DAY_MS) + 2) * DAY_MS);

/**
 * The newest rows of a table that is partitioned by day (UTC), of which `read` has the newest of a span. Reading such a
 * table begins with a look at each partition that the span does not rule out, a hundred of them where only the last one
 * is wanted. So spans have both ends, at days where they can: the last two days are asked first, and what is older where
 * those do not fill the page.
 */
export async function newestFirst<T>(
  { from, before, limit }: NewestPage,
  read: (span: Span, limit: number) => Promise<T[]>,
  now = Date.now(),
): Promise<T[]> {
  const day = Math.floor((before === null ? now : parseUuidTime(before)) / DAY_MS);
  const rows: T[] = [];
  let until = upperEnd(before, now);
  for (const days of [...DAYS_BEFORE, null]) {
    const low = days === null ? null : lowestUuidAt((day - days) * DAY_MS);
    const isLast = low === null || (from !== null && low <= from);
    const start = isLast ? from : low;
    rows.push(...(await read({ from: start, before: until }, limit - rows.length)));
    if (isLast || rows.length >= limit) break;
    until = low;
  }
  return rows;
}

const LOWEST = lowestUuidAt(0);

/**
 * Reads what a function of the database has of a span (`…_lists/migration.sql`).
 * @param given what it is given before the span
 */
export const lookBy =
  <T>(db: Database, columns: Prisma.Sql, name: string, given: Prisma.Sql) =>
  ({ from, before }: Span, limit: number): Promise<T[]> =>
    db.$queryRaw<T[]>`
      SELECT ${columns}
      FROM ${Prisma.raw(name)}(${given}, ${from ?? LOWEST}::uuid, ${before}::uuid, ${limit}::integer) AS m`;

/** Of rows that are few and far apart: one call finds them, by an index of theirs alone or by the days that are known. */
export const newestOfFew = <T>(
  { from, before, limit }: NewestPage,
  read: (span: Span, limit: number) => Promise<T[]>,
): Promise<T[]> => read({ from, before: upperEnd(before) }, limit);

/** So many of a queue are looked at together, at most. */
const MOST_QUEUED = 2_000;

/**
 * The newest rows of which a queue has the ids. Not all of them are read: what has left the queue meanwhile is left out,
 * and what follows takes its place on the page, so that only the end of the queue ends the list.
 */
export async function newestQueued<T>(
  { before, limit }: Pick<NewestPage, 'before' | 'limit'>,
  queued: (before: string | null, amount: number) => Promise<{ id: string }[]>,
  read: (ids: string[]) => Promise<T[]>,
): Promise<T[]> {
  const rows: T[] = [];
  let until = before;
  for (let amount = limit; rows.length < limit; amount = Math.min(amount * 4, MOST_QUEUED)) {
    const ids = (await queued(until, amount)).map(({ id }) => id);
    if (ids.length > 0) rows.push(...(await read(ids)));
    if (ids.length < amount) break;
    until = ids.at(-1)!;
  }
  return rows.slice(0, limit);
}

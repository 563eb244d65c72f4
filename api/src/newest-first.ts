import { lowestUuidAt, timeOfUuid } from '@gwk/core/ids';
import { PAGE_LIMIT_MAX } from '@gwk/core/resources/common';
import type { Database } from './database.js';
import { Prisma } from './generated/prisma/client.js';

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
/** One that is asked for beyond the page tells whether there is a next one. */
const MOST_ROWS = PAGE_LIMIT_MAX + 1;

/**
 * Where a page can begin: ids are made by the clocks of API processes, which may be ahead of this one. What a clock has
 * dated more than a day ahead is listed when its day is near.
 */
export const upperEnd = (before: string | null, now = Date.now()): string =>
  before ?? lowestUuidAt((Math.floor(now / DAY_MS) + 2) * DAY_MS);

/**
 * The newest rows of a table that is partitioned by day (UTC), of which `read` has the newest of a span. Planning a look
 * at such a table takes as long as there are partitions that its condition does not rule out, a hundred of them where
 * only the last one is wanted, and reading it begins with a look at each. So spans have both ends, at days where they
 * can: the last two days are asked first, and what is older where those do not fill the page.
 */
export async function newestFirst<T>(
  { from, before, limit }: NewestPage,
  read: (span: Span, limit: number) => Promise<T[]>,
  now = Date.now(),
): Promise<T[]> {
  const day = Math.floor((before === null ? now : timeOfUuid(before)) / DAY_MS);
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

/** Rows of a partitioned table, `m`, that belong to somebody. There is an index of each owner's column and the id. */
export interface OwnedRows {
  table: Prisma.Sql;
  /** With the id. */
  columns: Prisma.Sql;
  owner: { column: Prisma.Sql; ids: readonly string[] };
  where: readonly Prisma.Sql[];
  /** Few and far apart, with an index of their own: one look at all days is what finds them. */
  areFew?: boolean;
}

/** The newest of them, as objects with the names of the columns. */
export function newestOwned<T>(db: Database, owned: OwnedRows, page: NewestPage): Promise<T[]> {
  const look = (span: Span, limit: number) => db.$queryRaw<T[]>(lookAt(owned, span, limit));
  const { from, before, limit } = page;
  return owned.areFew ? look({ from, before: upperEnd(before) }, limit) : newestFirst(page, look);
}

/**
 * Several owners are looked at one after the other, each by the index: asked for all of them at once, Postgres may read
 * the whole day by its ids, to find the few that are theirs. The bound within the statement for one owner is for the
 * planner, which cannot see how many are asked for: with it, it knows that it need not plan anew each time.
 */
function lookAt({ table, columns, owner, where }: OwnedRows, span: Span, limit: number): Prisma.Sql {
  const { column, ids } = owner;
  const rest = Prisma.join([...within(span), ...where], ' AND ');
  if (ids.length === 1)
    return Prisma.sql`
      SELECT * FROM (
        SELECT ${columns} FROM ${table} m WHERE ${column} = ${ids[0]}::uuid AND ${rest}
        ORDER BY m.id DESC LIMIT ${Prisma.raw(String(MOST_ROWS))}) AS page
      LIMIT ${limit}::integer`;
  return Prisma.sql`
    SELECT page.* FROM unnest(${[...ids]}::uuid[]) AS owner(id)
    CROSS JOIN LATERAL (
      SELECT ${columns} FROM ${table} m WHERE ${column} = owner.id AND ${rest}
      ORDER BY m.id DESC LIMIT ${limit}::integer) AS page
    ORDER BY page.id DESC LIMIT ${limit}::integer`;
}

/**
 * No id is null. Postgres takes two bounds for a span of one row in two hundred, wherever it does not know them, and then
 * rather reads and sorts all rows of the span than begins at its end; with the lower one put like this it does not
 * see a span, and still leaves out the partitions before it.
 */
const within = ({ from, before }: Span): Prisma.Sql[] => [
  Prisma.sql`m.id < ${before}::uuid`,
  ...(from === null ? [] : [Prisma.sql`(m.id >= ${from}::uuid OR m.id IS NULL)`]),
];

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

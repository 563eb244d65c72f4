import { SealError, type Sealer } from '@gwk/core/crypto/encryption';
import type { Database } from '../database.js';
import { Prisma } from '../../generated/prisma/client.js';
import { SEALED, type SealedColumn } from './columns.js';

interface ReencryptResult {
  reencrypted: number;
  /** Values encrypted with an old key meanwhile: a program still has that key first. */
  left: number;
  /** Ids of keys that are no longer needed. */
  retired: string[];
}

/** Options for tests. */
interface ScanOptions {
  columns?: readonly SealedColumn[];
  pageRows?: number;
}

interface ReencryptOptions extends ScanOptions {
  /** Writes the audit entry in the transaction that retires the keys. */
  note?: (tx: Prisma.TransactionClient, done: { reencrypted: number; retired: string[] }) => Promise<void>;
  /** For tests: runs before the final count. */
  beforeFinalCount?: () => Promise<void>;
}

/** Rows read by one statement of a count. */
const COUNTED_ROWS = 10_000;
/** Rows whose values one statement replaces. */
const REPLACED_ROWS = 500;

/** The last key of a page, or before the first. */
type Position = readonly string[];

/** A position before every key. */
const startOf = ({ key }: SealedColumn): Position =>
  key.map(([, type]) => (type === 'uuid' ? '00000000-0000-0000-0000-000000000000' : ''));

/**
 * Builds the SQL of `page`: the next rows in the order of their key, after the position. So statements end within the
 * statement timeout and hold no old snapshot that blocks vacuum.
 */
function pageSql(
  { table, column, key, scope, as = `'${table}.${column}'` }: SealedColumn,
  rows: number,
  after: Position,
): Prisma.Sql {
  const names = key.map(([name]) => `t.${name}`);
  const order = names.join(', ');
  const position = key.map(([, type], index) => Prisma.sql`${after[index]}::${Prisma.raw(type)}`);
  return Prisma.sql`${Prisma.raw(`WITH page AS MATERIALIZED (
    SELECT *, row_number() OVER (ORDER BY ${order}) AS place
    FROM (
      SELECT ${order}, ARRAY[${names.map((name) => `${name}::text`).join(', ')}] AS names, (${scope})::text AS scope,
        ${as} AS column, t.${column} AS value, encode(substring(t.${column} FROM 1 FOR 8), 'hex') AS key_id
      FROM ${table} t WHERE (${order}) > (`)}${Prisma.join(position)}${Prisma.raw(`) ORDER BY ${order} LIMIT ${rows}) AS t)`)}`;
}

/** Counts the values encrypted with each key, by key id. */
export async function countByKey(
  db: Database,
  sealer: Sealer,
  { columns = SEALED, pageRows = COUNTED_ROWS }: ScanOptions = {},
): Promise<{ current: string; rows: Record<string, number> }> {
  const rows: Record<string, number> = {};
  for (const sealed of columns)
    for await (const { key, amount } of countPages(db, sealed, pageRows))
      if (key !== null) rows[key] = (rows[key] ?? 0) + amount;
  return { current: sealer.keys[0]!.id, rows };
}

interface PageCount {
  /** Null: rows without a value. */
  key: string | null;
  amount: number;
  /** Last row of the page. */
  last: Position;
}

async function* countPages(db: Database, sealed: SealedColumn, pageRows: number): AsyncGenerator<PageCount> {
  for (let after: Position | undefined = startOf(sealed); after;) {
    const counts: PageCount[] = await db.$queryRaw`${pageSql(sealed, pageRows, after)}
       SELECT key_id AS key, count(*)::int AS amount,
         (SELECT names FROM page ORDER BY place DESC LIMIT 1) AS last FROM page GROUP BY 1`;
    yield* counts;
    after = counts[0]?.last;
  }
}

/**
 * Encrypts all values of old keys with the current key, and then retires the old keys. It can be stopped and repeated at any
 * time beside a running gateway, because it replaces a value only if that is still the one it read. Files of the media store
 * need no change: their own keys are encrypted in their rows.
 * @throws SealError if a value was encrypted with a key that is not configured
 */
export async function reencrypt(
  db: Database,
  sealer: Sealer,
  options: ReencryptOptions = {},
): Promise<ReencryptResult> {
  const { columns = SEALED, pageRows = REPLACED_ROWS } = options;
  let reencrypted = 0;
  for (const column of columns) reencrypted += await reencryptColumn(db, sealer, column, pageRows);
  await options.beforeFinalCount?.();
  const { current, rows } = await countByKey(db, sealer, options);
  const others = Object.entries(rows).filter(([key]) => key !== current);
  const left = others.reduce((sum, [, amount]) => sum + amount, 0);
  if (left > 0) {
    await options.note?.(db, { reencrypted, retired: [] });
    return { reencrypted, left, retired: [] };
  }
  const former = await db.keyCheck.findMany({ where: { keyId: { not: current } } });
  const retired = former.map(({ keyId }) => keyId);
  await db.$transaction(async (tx) => {
    await tx.keyCheck.deleteMany({ where: { keyId: { in: retired } } });
    await options.note?.(tx, { reencrypted, retired });
  });
  return { reencrypted, left, retired };
}

interface Row {
  names: Position;
  scope: string;
  column: string;
  value: Uint8Array;
}

async function reencryptColumn(
  db: Database,
  sealer: Sealer,
  sealed: SealedColumn,
  pageRows: number,
): Promise<number> {
  let amount = 0;
  for (let after: Position | null = startOf(sealed); after;) {
    // The last row of the page is the next position, whatever its key.
    const rows: (Row & { former: boolean })[] = await db.$queryRaw`${pageSql(sealed, pageRows, after)}
       SELECT p.names, p.scope, p.column, p.value, p.former
       FROM (SELECT *, coalesce(key_id <> ${sealer.keys[0]!.id}, false) AS former FROM page) AS p
       WHERE former OR place = (SELECT max(place) FROM page) ORDER BY place`;
    const former = rows.filter((row) => row.former);
    if (former.length > 0) {
      const fresh = former.map((row) => sealer.seal(row.scope, row.column, openRow(sealer, row)));
      amount += await replaceRows(
        db,
        sealed,
        former.map((row, index) => ({ ...row, fresh: fresh[index]! })),
      );
    }
    after = rows.at(-1)?.names ?? null;
  }
  return amount;
}

function openRow(sealer: Sealer, { scope, column, value, names }: Row): Buffer {
  try {
    return sealer.open(scope, column, value);
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    throw new SealError(`${error.message} (row ${names.join(' ')})`);
  }
}

type Replacement = Row & { fresh: Uint8Array };

/**
 * Replaces values. The group statement skips locked rows, because waiting for several row locks could deadlock with other
 * transactions. Locked rows follow one by one.
 */
async function replaceRows(
  db: Database,
  sealed: SealedColumn,
  rows: readonly Replacement[],
): Promise<number> {
  const done = new Set(await replaceUnchanged(db, sealed, rows, 'SKIP LOCKED'));
  let amount = done.size;
  for (const [index, row] of rows.entries())
    if (!done.has(index)) amount += (await replaceUnchanged(db, sealed, [row], '')).length;
  return amount;
}

/** @returns the indexes of replaced rows: unchanged since they were read */
async function replaceUnchanged(
  db: Database,
  { table, column, key }: SealedColumn,
  rows: readonly Replacement[],
  locked: 'SKIP LOCKED' | '',
): Promise<number[]> {
  const arrays = key.map(
    ([, type], index) => Prisma.sql`${rows.map((row) => row.names[index]!)}::${Prisma.raw(type)}[]`,
  );
  const names = key.map(([name]) => name).join(', ');
  const same = key.map(([name]) => `t.${name} = g.${name}`).join(' AND ');
  const places = await db.$queryRaw<{ place: number }[]>`
     WITH given AS MATERIALIZED (
       SELECT * FROM unnest(${rows.map(({ fresh }) => fresh)}::bytea[], ${rows.map(({ value }) => value)}::bytea[],
         ${Prisma.join(arrays)}) ${Prisma.raw(`WITH ORDINALITY AS g(fresh, value, ${names}, place)),
     free AS MATERIALIZED (
       SELECT g.place FROM given g JOIN ${table} t ON ${same} WHERE t.${column} = g.value
       FOR NO KEY UPDATE OF t ${locked})
     UPDATE ${table} t SET ${column} = g.fresh FROM given g JOIN free f ON f.place = g.place WHERE ${same}
     RETURNING g.place::int - 1 AS place`)}`;
  return places.map(({ place }) => place);
}

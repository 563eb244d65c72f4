import { SealError, type Sealer } from '@gwk/core/encryption';
import type { Database } from '../database.js';
import type { Prisma } from '../../generated/prisma/client.js';
import { SEALED, type SealedColumn } from './columns.js';
import { inPage, tablePages, type Page } from './pages.js';

/**
 * The end of a rotation: what former keys have sealed is sealed with the present one, after which they can be thrown
 * away. It may be stopped and begun again at any time, beside a gateway that works: a value is exchanged only while it
 * is still the one that was read. Files of the media store need nothing: each has a key of its own, sealed in its row.
 */
export interface Resealed {
  reencrypted: number;
  /** Values that a former key has sealed since: some program still has it in front. */
  left: number;
  /** Ids of the keys that nothing needs any more. */
  retired: string[];
}

/** Values that are exchanged with one statement. */
const AT_ONCE = 500;

/** For tests. */
export interface LookOptions {
  columns?: readonly SealedColumn[];
  pageRows?: number;
}

export interface ResealOptions extends LookOptions {
  atOnce?: number;
  /** Into the trail of changes, together with the end of the keys. */
  note?: (tx: Prisma.TransactionClient, done: { reencrypted: number; retired: string[] }) => Promise<void>;
  /** For tests: what others do before the last look. */
  beforeLastLook?: () => Promise<void>;
}

/** How many values each key has sealed, by its id. */
export async function countByKey(
  db: Database,
  sealer: Sealer,
  { columns = SEALED, pageRows }: LookOptions = {},
): Promise<{ current: string; rows: Record<string, number> }> {
  const rows: Record<string, number> = {};
  for (const sealed of columns)
    for await (const page of tablePages(db, sealed, pageRows))
      for (const { key, amount } of await countPage(db, sealed, page)) rows[key] = (rows[key] ?? 0) + amount;
  return { current: sealer.keys[0]!.id, rows };
}

function countPage(
  db: Database,
  sealed: SealedColumn,
  page: Page,
): Promise<{ key: string; amount: number }[]> {
  const { table, column } = sealed;
  const { sql, values } = inPage(sealed, page);
  return db.$queryRawUnsafe(
    `SELECT encode(substring(t.${column} FROM 1 FOR 8), 'hex') AS key, count(*)::int AS amount
     FROM ${table} t WHERE t.${column} IS NOT NULL ${sql} GROUP BY 1`,
    ...values,
  );
}

/** @throws SealError where a value was sealed with a key that is not configured */
export async function reencrypt(
  db: Database,
  sealer: Sealer,
  options: ResealOptions = {},
): Promise<Resealed> {
  const { atOnce = AT_ONCE, columns = SEALED, pageRows } = options;
  let reencrypted = 0;
  for (const column of columns)
    for await (const page of tablePages(db, column, pageRows))
      reencrypted += await reencryptPage(db, sealer, { column, page, atOnce });
  await options.beforeLastLook?.();
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
  names: string[];
  scope: string;
  column: string;
  value: Uint8Array;
}

/** Rows in the order of their key, so that none is looked at twice. */
async function reencryptPage(
  db: Database,
  sealer: Sealer,
  { column, page, atOnce }: { column: SealedColumn; page: Page; atOnce: number },
): Promise<number> {
  let amount = 0;
  let rest: Page | undefined = page;
  while (rest) {
    const rows = await readFormer(db, sealer, column, { page: rest, atOnce });
    const fresh = rows.map((row) => ({
      ...row,
      fresh: sealer.seal(row.scope, row.column, openOrSay(sealer, row)),
    }));
    amount += await exchange(db, column, fresh);
    rest = rows.length === atOnce ? { after: rows.at(-1)!.names, until: page.until } : undefined;
  }
  return amount;
}

function openOrSay(sealer: Sealer, { scope, column, value, names }: Row): Buffer {
  try {
    return sealer.open(scope, column, value);
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    throw new SealError(`${error.message} (row ${names.join(' ')})`);
  }
}

function readFormer(
  db: Database,
  sealer: Sealer,
  sealed: SealedColumn,
  { page, atOnce }: { page: Page; atOnce: number },
): Promise<Row[]> {
  const { table, column, key, scope, as = `'${table}.${column}'` } = sealed;
  const names = key.map(([name]) => `t.${name}`);
  const { sql, values } = inPage(sealed, page, 2);
  return db.$queryRawUnsafe<Row[]>(
    `SELECT ARRAY[${names.map((name) => `${name}::text`).join(', ')}] AS names, (${scope})::text AS scope,
       ${as} AS column, t.${column} AS value
     FROM ${table} t
     WHERE t.${column} IS NOT NULL AND substring(t.${column} FROM 1 FOR 8) <> $1 ${sql}
     ORDER BY ${names.join(', ')} LIMIT ${atOnce}`,
    Buffer.from(sealer.keys[0]!.id, 'hex'),
    ...values,
  );
}

type Exchanged = Row & { fresh: Uint8Array };

/**
 * Many with one statement, which waits for no row: whoever waits for one of its rows while it waits for one of theirs
 * would be ended by Postgres. Rows that others hold come after it, one by one.
 */
async function exchange(db: Database, sealed: SealedColumn, rows: readonly Exchanged[]): Promise<number> {
  if (rows.length === 0) return 0;
  const done = new Set(await exchangeFree(db, sealed, rows));
  let amount = done.size;
  for (const [place, row] of rows.entries())
    if (!done.has(place)) amount += await exchangeOne(db, sealed, row);
  return amount;
}

/** @returns the places of those that nobody held, and that were still what was read */
async function exchangeFree(
  db: Database,
  { table, column, key }: SealedColumn,
  rows: readonly Exchanged[],
): Promise<number[]> {
  const arrays = key.map(([, type], index) => `$${index + 3}::${type}[]`).join(', ');
  const names = key.map(([name]) => name).join(', ');
  const same = key.map(([name]) => `t.${name} = g.${name}`).join(' AND ');
  const places = await db.$queryRawUnsafe<{ place: number }[]>(
    `WITH given AS MATERIALIZED (
       SELECT * FROM unnest($1::bytea[], $2::bytea[], ${arrays}) WITH ORDINALITY AS g(fresh, value, ${names}, place)),
     free AS MATERIALIZED (
       SELECT g.place FROM given g JOIN ${table} t ON ${same} WHERE t.${column} = g.value
       FOR NO KEY UPDATE OF t SKIP LOCKED)
     UPDATE ${table} t SET ${column} = g.fresh FROM given g JOIN free f ON f.place = g.place WHERE ${same}
     RETURNING g.place::int - 1 AS place`,
    rows.map(({ fresh }) => fresh),
    rows.map(({ value }) => value),
    ...key.map((_, index) => rows.map((row) => row.names[index]!)),
  );
  return places.map(({ place }) => place);
}

function exchangeOne(
  db: Database,
  { table, column, key }: SealedColumn,
  { names, value, fresh }: Exchanged,
): Promise<number> {
  const where = key.map(([name, type], index) => `${name} = $${index + 3}::${type}`);
  return db.$executeRawUnsafe(
    `UPDATE ${table} SET ${column} = $1::bytea WHERE ${column} = $2::bytea AND ${where.join(' AND ')}`,
    fresh,
    value,
    ...names,
  );
}

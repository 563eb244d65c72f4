import { SealError, type Sealer } from '@gwk/core/encryption';
import type { Database } from '../database.js';
import type { Prisma } from '../../generated/prisma/client.js';
import { SEALED, type SealedColumn } from './columns.js';

interface ReencryptResult {
  reencrypted: number;
  /** Values encrypted with an old key meanwhile: a program still has that key first. */
  left: number;
  /** Ids of keys that are no longer needed. */
  retired: string[];
}

/** Values replaced by one statement. */
const BATCH_ROWS = 500;

/** Options for tests. */
interface ScanOptions {
  columns?: readonly SealedColumn[];
  pageRows?: number;
}

interface ReencryptOptions extends ScanOptions {
  batchRows?: number;
  /** Writes the audit entry in the transaction that retires the keys. */
  note?: (tx: Prisma.TransactionClient, done: { reencrypted: number; retired: string[] }) => Promise<void>;
  /** For tests: runs before the final count. */
  beforeFinalCount?: () => Promise<void>;
}

/**
 * Part of a table by key. Statements over one page end within the statement timeout and hold no old snapshot that blocks
 * vacuum.
 */
interface Page {
  /** Last key before the page; null: from the first. */
  after: string[] | null;
  /** Last key of the page; null: to the end. */
  until: string[] | null;
}

const PAGE_ROWS = 10_000;

async function* splitTable(db: Database, table: SealedColumn, rows = PAGE_ROWS): AsyncGenerator<Page> {
  let after: string[] | null = null;
  do {
    const until: string[] | null = await endOfPage(db, table, { after, rows });
    yield { after, until };
    after = until;
  } while (after);
}

/** @returns null if at most a page is left */
async function endOfPage(
  db: Database,
  sealed: SealedColumn,
  { after, rows }: { after: string[] | null; rows: number },
): Promise<string[] | null> {
  const names = sealed.key.map(([name]) => `t.${name}`);
  const { sql, values } = buildPageCondition(sealed, { after, until: null });
  const [row] = await db.$queryRawUnsafe<{ names: string[] }[]>(
    `SELECT ARRAY[${names.map((name) => `${name}::text`).join(', ')}] AS names FROM ${sealed.table} t
     WHERE true ${sql} ORDER BY ${names.join(', ')} OFFSET ${rows - 1} LIMIT 1`,
    ...values,
  );
  return row?.names ?? null;
}

/** Builds the SQL condition for a page; its parameters start with number `first`. */
function buildPageCondition(
  { key }: SealedColumn,
  { after, until }: Page,
  first = 1,
): { sql: string; values: string[] } {
  const values: string[] = [];
  const names = key.map(([name]) => `t.${name}`).join(', ');
  const bound = (operator: string, given: string[] | null): string => {
    if (!given) return '';
    const parameters = key.map(([, type], index) => `$${first + values.length + index}::${type}`);
    values.push(...given);
    return `AND (${names}) ${operator} (${parameters.join(', ')})`;
  };
  const sql = `${bound('>', after)} ${bound('<=', until)}`;
  return { sql, values };
}

/** Counts the values encrypted with each key, by key id. */
export async function countByKey(
  db: Database,
  sealer: Sealer,
  { columns = SEALED, pageRows }: ScanOptions = {},
): Promise<{ current: string; rows: Record<string, number> }> {
  const rows: Record<string, number> = {};
  for (const sealed of columns)
    for await (const page of splitTable(db, sealed, pageRows))
      for (const { key, amount } of await countPage(db, sealed, page)) rows[key] = (rows[key] ?? 0) + amount;
  return { current: sealer.keys[0]!.id, rows };
}

function countPage(
  db: Database,
  sealed: SealedColumn,
  page: Page,
): Promise<{ key: string; amount: number }[]> {
  const { table, column } = sealed;
  const { sql, values } = buildPageCondition(sealed, page);
  return db.$queryRawUnsafe(
    `SELECT encode(substring(t.${column} FROM 1 FOR 8), 'hex') AS key, count(*)::int AS amount
     FROM ${table} t WHERE t.${column} IS NOT NULL ${sql} GROUP BY 1`,
    ...values,
  );
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
  const { batchRows = BATCH_ROWS, columns = SEALED, pageRows } = options;
  let reencrypted = 0;
  for (const column of columns)
    for await (const page of splitTable(db, column, pageRows))
      reencrypted += await reencryptPage(db, sealer, { column, page, batchRows });
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
  names: string[];
  scope: string;
  column: string;
  value: Uint8Array;
}

/** Reads rows in the order of their key, so that none is read twice. */
async function reencryptPage(
  db: Database,
  sealer: Sealer,
  { column, page, batchRows }: { column: SealedColumn; page: Page; batchRows: number },
): Promise<number> {
  let amount = 0;
  let rest: Page | undefined = page;
  while (rest) {
    const rows = await readFormer(db, sealer, column, { page: rest, batchRows });
    const fresh = rows.map((row) => ({
      ...row,
      fresh: sealer.seal(row.scope, row.column, openRow(sealer, row)),
    }));
    amount += await replaceRows(db, column, fresh);
    rest = rows.length === batchRows ? { after: rows.at(-1)!.names, until: page.until } : undefined;
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

function readFormer(
  db: Database,
  sealer: Sealer,
  sealed: SealedColumn,
  { page, batchRows }: { page: Page; batchRows: number },
): Promise<Row[]> {
  const { table, column, key, scope, as = `'${table}.${column}'` } = sealed;
  const names = key.map(([name]) => `t.${name}`);
  const { sql, values } = buildPageCondition(sealed, page, 2);
  return db.$queryRawUnsafe<Row[]>(
    `SELECT ARRAY[${names.map((name) => `${name}::text`).join(', ')}] AS names, (${scope})::text AS scope,
       ${as} AS column, t.${column} AS value
     FROM ${table} t
     WHERE t.${column} IS NOT NULL AND substring(t.${column} FROM 1 FOR 8) <> $1 ${sql}
     ORDER BY ${names.join(', ')} LIMIT ${batchRows}`,
    Buffer.from(sealer.keys[0]!.id, 'hex'),
    ...values,
  );
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
  if (rows.length === 0) return 0;
  const done = new Set(await replaceUnlocked(db, sealed, rows));
  let amount = done.size;
  for (const [index, row] of rows.entries())
    if (!done.has(index)) amount += await replaceOne(db, sealed, row);
  return amount;
}

/** @returns the indexes of replaced rows: not locked, and unchanged since they were read */
async function replaceUnlocked(
  db: Database,
  { table, column, key }: SealedColumn,
  rows: readonly Replacement[],
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

function replaceOne(
  db: Database,
  { table, column, key }: SealedColumn,
  { names, value, fresh }: Replacement,
): Promise<number> {
  const where = key.map(([name, type], index) => `${name} = $${index + 3}::${type}`);
  return db.$executeRawUnsafe(
    `UPDATE ${table} SET ${column} = $1::bytea WHERE ${column} = $2::bytea AND ${where.join(' AND ')}`,
    fresh,
    value,
    ...names,
  );
}

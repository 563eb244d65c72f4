import type { Database } from '../database.js';
import type { SealedColumn } from './columns.js';

/**
 * Part of a table by key. Statements over one page end within the statement timeout and hold no old snapshot that blocks
 * vacuum.
 */
export interface Page {
  /** Last key before the page; null: from the first. */
  after: string[] | null;
  /** Last key of the page; null: to the end. */
  until: string[] | null;
}

const PAGE_ROWS = 10_000;

export async function* splitTable(db: Database, table: SealedColumn, rows = PAGE_ROWS): AsyncGenerator<Page> {
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
export function buildPageCondition(
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

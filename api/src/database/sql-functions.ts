import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type pg from 'pg';

export interface SqlFunction {
  name: string;
  sql: string;
  checksum: string;
}

/**
 * Reads `<name>.sql` (function gwk_<name>) in all folders. Functions come after those that they call, because Postgres
 * checks the body of a function when it creates it.
 */
export function readFunctions(folder: string): SqlFunction[] {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.sql'),
  );
  const files = new Map(paths.sort().map((path) => [`gwk_${basename(path, '.sql')}`, join(folder, path)]));
  const sorted = new Map<string, SqlFunction>();
  const visited = new Set<string>();
  const visit = (name: string): void => {
    const path = files.get(name);
    if (path === undefined || visited.has(name)) return;
    visited.add(name);
    const sql = readFileSync(path, 'utf8');
    for (const [called] of sql.replace(/--.*/g, '').matchAll(/\bgwk_\w+/g)) visit(called);
    sorted.set(name, { name, sql, checksum: createHash('sha256').update(sql).digest('hex') });
  };
  for (const name of files.keys()) visit(name);
  return [...sorted.values()];
}

/**
 * Selects functions whose current version differs from this one. `current: 'any'` accepts versions that were applied at any time:
 * a waiting program also works with the functions of the next release.
 */
export async function selectPendingFunctions(
  client: pg.Client,
  functions: SqlFunction[],
  { current }: { current: 'latest' | 'any' },
): Promise<SqlFunction[]> {
  if (functions.length === 0) return [];
  const { rows } = await client.query<Pick<SqlFunction, 'name' | 'checksum'>>(
    `SELECT ${current === 'latest' ? 'DISTINCT ON (name)' : ''} name, checksum FROM sql_functions
     ORDER BY name, applied_at DESC`,
  );
  const applied = new Set(rows.map(({ name, checksum }) => `${name} ${checksum}`));
  return functions.filter(({ name, checksum }) => !applied.has(`${name} ${checksum}`));
}

/** Applies the functions in one transaction. Functions without a file stay, because the former release may call them. */
export async function applyFunctions(client: pg.Client, functions: SqlFunction[]): Promise<void> {
  await client.query('BEGIN');
  for (const { name, sql, checksum } of functions) {
    await client.query(sql).catch((error: Error) => {
      throw new Error(`function ${name}: ${error.message}`, { cause: error });
    });
    await client.query(
      `INSERT INTO sql_functions (name, checksum) VALUES ($1, $2)
       ON CONFLICT (name, checksum) DO UPDATE SET applied_at = now()`,
      [name, checksum],
    );
  }
  await client.query('COMMIT');
}

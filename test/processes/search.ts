import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SealError, type Sealer } from '@gwk/core/crypto/encryption';
import { createClient } from 'redis';
import type pg from 'pg';

/**
 * Searches for a word in everything a gateway stores. Unencrypted: as text, in hexadecimal, and in base64 at each
 * of its three offsets. Encrypted: in every value that the keys decrypt.
 */
export function formsOf(word: string): string[] {
  const bytes = Buffer.from(word);
  const base64 = [0, 1, 2].flatMap((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replaceAll('=', '');
    // The characters at both ends depend on the neighbouring bytes.
    const inner = text.slice(shift === 0 ? 0 : shift + 1, -2);
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
  return [...new Set([word, bytes.toString('hex'), ...base64])];
}

interface Column {
  table: string;
  column: string;
  type: string;
}

/** Every column of every table. Partitions are searched through their parents. */
async function columnsOf(client: pg.Client): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `SELECT c.relname AS table, a.attname AS column, format_type(a.atttypid, a.atttypmod) AS type
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND a.attnum > 0 AND NOT a.attisdropped
     ORDER BY 1, a.attnum`,
  );
  return rows;
}

/** The columns (`table.column`) that contain the word unencrypted. */
export async function plainColumns(client: pg.Client, word: string): Promise<string[]> {
  const found: string[] = [];
  for (const { table, column } of await columnsOf(client)) {
    const { rows } = await client.query(
      `SELECT 1 FROM "${table}" t, unnest($1::text[]) AS form WHERE strpos(t."${column}"::text, form) > 0 LIMIT 1`,
      [formsOf(word)],
    );
    if (rows.length > 0) found.push(`${table}.${column}`);
  }
  return found;
}

export interface SealedContent {
  /** The words in the decrypted values of each column, sorted. */
  words: Record<string, string[]>;
  /** Columns of bytes with a value that none of the keys decrypts. */
  unsealed: string[];
}

/** @param pattern of the words; scopes: the ids for which rows are encrypted */
export async function sealedColumns(
  client: pg.Client,
  sealer: Sealer,
  scopes: readonly string[],
  pattern: RegExp,
): Promise<SealedContent> {
  const words: Record<string, string[]> = {};
  const unsealed: string[] = [];
  for (const { table, column, type } of await columnsOf(client)) {
    if (type !== 'bytea') continue;
    const name = `${table}.${column}`;
    const { rows } = await client.query<{ value: Buffer }>(
      `SELECT "${column}" AS value FROM "${table}" WHERE "${column}" IS NOT NULL`,
    );
    const opened = rows.map(({ value }) => open(sealer, scopes, name, value));
    if (opened.includes(null)) unsealed.push(name);
    const said = opened.flatMap((text) => [...(text ?? '').matchAll(pattern)].map((match) => match[1]!));
    if (said.length > 0) words[name] = [...new Set(said)].sort();
  }
  return { words, unsealed };
}

/** Null if no scope decrypts it. */
function open(sealer: Sealer, scopes: readonly string[], column: string, value: Buffer): string | null {
  for (const scope of scopes) {
    try {
      return sealer.open(scope, column, value).toString('utf8');
    } catch (error) {
      if ((error as Error).name !== SealError.name) throw error;
    }
  }
  return null;
}

/** The keys of Redis, including streams, that contain the word in their name or value. */
export async function redisKeys(url: string, word: string): Promise<{ keys: number; found: string[] }> {
  const client = createClient({ url });
  await client.connect();
  const forms = formsOf(word);
  const found: string[] = [];
  try {
    const keys = await client.keys('*');
    for (const key of keys) {
      const value = `${key} ${await valueOf(client, key)}`;
      if (forms.some((form) => value.includes(form))) found.push(key);
    }
    return { keys: keys.length, found };
  } finally {
    await client.close();
  }
}

interface Redis {
  type(key: string): Promise<string>;
  get(key: string): Promise<unknown>;
  xRange(key: string, from: string, to: string): Promise<unknown>;
  hGetAll(key: string): Promise<unknown>;
  lRange(key: string, from: number, to: number): Promise<unknown>;
  sMembers(key: string): Promise<unknown>;
  zRange(key: string, from: number, to: number): Promise<unknown>;
}

const READERS: Record<string, (client: Redis, key: string) => Promise<unknown>> = {
  string: (client, key) => client.get(key),
  stream: (client, key) => client.xRange(key, '-', '+'),
  hash: (client, key) => client.hGetAll(key),
  list: (client, key) => client.lRange(key, 0, -1),
  set: (client, key) => client.sMembers(key),
  zset: (client, key) => client.zRange(key, 0, -1),
};

async function valueOf(client: Redis, key: string): Promise<string> {
  const type = await client.type(key);
  const read = READERS[type];
  if (!read && type !== 'none') throw new Error(`${key} is a ${type}, which this search cannot read`);
  return JSON.stringify((await read?.(client, key)) ?? null);
}

/**
 * The files of a folder that contain the word in their name or content. Programs may write there at the same time:
 * a file that disappears may have been renamed, so new files are searched again.
 */
export function filesWith(folder: string, word: string): { files: number; found: string[] } {
  const forms = formsOf(word);
  const seen = new Set<string>();
  const found: string[] = [];
  for (let gone = true; gone;) {
    gone = false;
    for (const name of filesOf(folder)) {
      if (seen.has(name)) continue;
      const bytes = bytesOf(name);
      if (!bytes) {
        gone = true;
        continue;
      }
      seen.add(name);
      if (forms.some((form) => name.includes(form) || bytes.includes(form))) found.push(name);
    }
  }
  return { files: seen.size, found };
}

/** Lists again if a subfolder disappears during the listing. */
function filesOf(folder: string): string[] {
  for (;;)
    try {
      return readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name));
    } catch (error) {
      if (!isGone(error) || !existsSync(folder)) throw error;
    }
}

const isGone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

function bytesOf(name: string): Buffer | undefined {
  try {
    return readFileSync(name);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

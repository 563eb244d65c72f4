import pg from 'pg';

/** Content of a gateway database, for comparisons after a restore. */

/** For each table and partition: the number of rows, and a checksum of them in order. */
export async function rowsOf(url: string): Promise<Record<string, string>> {
  return within(url, async (client) => {
    const tables = await lines(
      client,
      `SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1`,
    );
    const sums: Record<string, string> = {};
    for (const table of tables) {
      // Rows as text in byte order, so that neither locale nor physical order matters.
      [sums[table]] = (await lines(
        client,
        `SELECT count(*) || ' rows ' || coalesce(md5(string_agg(md5(t::text), '' ORDER BY t::text COLLATE "C")), '')
         FROM ${table} t`,
      )) as [string];
    }
    return sums;
  });
}

const OURS = `relnamespace = 'public'::regnamespace`;

/** Each query returns one line per object, with all its properties. */
const THINGS: Record<string, string> = {
  relations: `SELECT concat_ws(' | ', oid::regclass, relkind, relpersistence, relowner::regrole, relacl, reloptions,
      pg_get_expr(relpartbound, oid), pg_get_partkeydef(oid)) FROM pg_class WHERE ${OURS}`,
  columns: `SELECT concat_ws(' | ', c.oid::regclass, row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum), a.attname,
      format_type(a.atttypid, a.atttypmod), a.attnotnull, coalesce(a.attstattarget, -1), a.attstorage,
      pg_get_expr(d.adbin, d.adrelid))
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum WHERE ${OURS}`,
  partitions: `SELECT concat_ws(' | ', inhparent::regclass, inhrelid::regclass) FROM pg_inherits`,
  indexes: `SELECT concat_ws(' | ', pg_get_indexdef(indexrelid), indisvalid, indisready, indisprimary)
    FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE ${OURS}`,
  constraints: `SELECT concat_ws(' | ', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated, conislocal,
      coninhcount) FROM pg_constraint WHERE connamespace = 'public'::regnamespace`,
  functions: `SELECT concat_ws(' | ', proowner::regrole, proacl, pg_get_functiondef(oid)) FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace AND prokind <> 'a'`,
  triggers: `SELECT concat_ws(' | ', pg_get_triggerdef(oid), tgenabled) FROM pg_trigger WHERE NOT tgisinternal`,
  statistics: `SELECT pg_get_statisticsobjdef(oid) FROM pg_statistic_ext`,
  types: `SELECT concat_ws(' | ', typname, typtype) FROM pg_type WHERE typnamespace = 'public'::regnamespace`,
  extensions: `SELECT extname FROM pg_extension`,
};

export async function schemaOf(url: string): Promise<Record<string, string[]>> {
  return within(url, async (client) => {
    const schema: Record<string, string[]> = {};
    for (const [name, sql] of Object.entries(THINGS)) schema[name] = (await lines(client, sql)).sort();
    return schema;
  });
}

async function lines(client: pg.Client, sql: string): Promise<string[]> {
  const { rows } = await client.query<[string]>({ text: sql, rowMode: 'array' });
  return rows.map(([line]) => line);
}

async function within<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

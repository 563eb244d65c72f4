import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { postgresConnection, UnusablePooler } from './connection.js';

/** `none`: the connection reaches Postgres itself. */
export type Pooling = 'none' | 'session' | 'transaction';

interface PooledDatabase {
  url: string;
  /** Certificate authority (PEM). */
  ca?: string | undefined;
}

const TIMEOUT_MS = 10_000;
/** Other programs use the same pool, so one round could miss a shared connection. */
const ROUNDS = 5;
const PROTOCOL_VIOLATION = '08P01';
/** A prepared statement exists already, or does not exist. */
const PREPARED_STATEMENT = new Set(['42P05', '26000']);

/**
 * Detects a pooler such as PgBouncer and what it assigns a connection to. A pooler invents the process id of its connections,
 * so it differs from the one of the backend.
 * @throws UnusablePooler if transactions or prepared statements do not work; errors of the connection
 */
export async function detectPooling(database: PooledDatabase): Promise<Pooling> {
  return withClient(database, async (first) => {
    const { rows } = await first.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    if (rows[0]!.pid === readProcessId(first)) return 'none';
    await checkTransactions(first);
    return withClient(database, (second) => compareBackends(first, second));
  });
}

/**
 * For work that needs one backend for several transactions: migrations and their lock, and statements without a timeout.
 * @throws UnusablePooler
 */
export async function requireSession(database: PooledDatabase): Promise<void> {
  if ((await detectPooling(database)) !== 'transaction') return;
  throw new UnusablePooler(
    'this command needs a session, and the pooler in DATABASE_URL pools transactions: use the address of Postgres itself, ' +
      'or session pooling (docs/operate.md#pgbouncer)',
  );
}

async function withClient<T>(
  { url, ca }: PooledDatabase,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    ...postgresConnection(url, ca),
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
  });
  // A pooler may close the connection after an error.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    throw explain(error as Error & { code?: string });
  } finally {
    await client.end().catch(() => undefined);
  }
}

function explain(error: Error & { code?: string }): Error {
  if (error.code !== PROTOCOL_VIOLATION || !error.message.includes('startup parameter')) return error;
  return new UnusablePooler(
    `the pooler refuses a parameter of DATABASE_URL (${error.message}): remove it from the URL and set it for the role, ` +
      'with ALTER ROLE ... SET (docs/operate.md#pgbouncer)',
  );
}

async function checkTransactions(client: pg.Client): Promise<void> {
  try {
    await client.query('BEGIN');
    await client.query('ROLLBACK');
  } catch (error) {
    if ((error as { code?: string }).code !== PROTOCOL_VIOLATION) throw error;
    throw new UnusablePooler(
      'the pooler in DATABASE_URL pools statements, and gwk needs transactions: set pool_mode to session or transaction ' +
        '(docs/operate.md#pgbouncer)',
    );
  }
}

/**
 * A pool gives the connection that it used last, or the one that it used least recently. The order first, second, second shows
 * in both cases whether clients share connections: if they do not, each always has the same backend.
 */
async function compareBackends(first: pg.Client, second: pg.Client): Promise<Pooling> {
  const name = `gwk ${randomUUID()}`;
  const backends = { first: new Set<number>(), second: new Set<number>() };
  for (let round = 0; round < ROUNDS; round++) {
    backends.first.add(await readBackend(first, name));
    backends.second.add(await readBackend(second, name));
    backends.second.add(await readBackend(second, name));
  }
  const exclusive = new Set([...backends.first, ...backends.second]).size === 2;
  return exclusive && backends.first.size === 1 ? 'session' : 'transaction';
}

/** Both clients give their statements the same name. @throws UnusablePooler if one receives the statement of the other */
async function readBackend(client: pg.Client, name: string): Promise<number> {
  const id = readProcessId(client);
  // The parentheses matter: `::` binds closer than the sign of a negative id.
  const text = `SELECT pg_backend_pid() AS pid, (${id})::bigint::text AS id`;
  try {
    const { rows } = await client.query<{ pid: number; id: string }>({ name, text });
    if (rows[0]!.id === String(id)) return rows[0]!.pid;
  } catch (error) {
    if (!PREPARED_STATEMENT.has((error as { code?: string }).code ?? '')) throw error;
  }
  throw new UnusablePooler(
    'the pooler in DATABASE_URL pools transactions without prepared statements: set max_prepared_statements (PgBouncer 1.21 ' +
      'or later), or pool_mode to session (docs/operate.md#pgbouncer)',
  );
}

/** From the message BackendKeyData. The types of the driver lack it. */
const readProcessId = (client: pg.Client): number => (client as pg.Client & { processID: number }).processID;

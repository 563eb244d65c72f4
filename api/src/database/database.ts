import { PrismaPg } from '@prisma/adapter-pg';
import pg, { type Client, type DatabaseError, type PoolClient } from 'pg';
import { postgresConnection } from './connection.js';
import { PrismaClient, type Prisma } from '../generated/prisma/client.js';
import { closeUnresponsiveConnections } from './unresponsive-postgres.js';

/**
 * Access to Postgres. Most code uses the models of Prisma; code that runs for every message uses one raw statement with
 * array parameters per group. Every connection prepares a statement once, because planning costs more than executing.
 */
export type Database = PrismaClient & Calls;

interface Calls {
  /**
   * Runs a statement outside transactions on a pool connection of Prisma, without Prisma's overhead (100 us a call) and
   * without its adapter, which keeps the values of the last hundred statements for debugging.
   * @param values text, numbers and booleans; arrays in Postgres format (arrays.ts)
   * @returns the values of the only row
   * @throws the driver's error; `readSqlState` reads it
   */
  callFunction: Call;
  /**
   * Runs a statement like `$queryRaw`, but outside transactions and past Prisma, as `callFunction` does. It returns
   * `timestamp` and `timestamptz` as Date; 64-bit integers and `numeric` are text. Pass times as text.
   */
  queryRows: QueryRows;
  readPoolUsage(): PoolUsage;
}

export type QueryRows = <Row>(statement: Prisma.Sql) => Promise<Row[]>;

export type Call = (sql: string, values: readonly unknown[]) => Promise<readonly unknown[]>;

/** A client or a transaction. */
export type Queryable = Pick<PrismaClient, '$queryRaw' | '$executeRaw'>;

export interface DatabaseOptions {
  url: string;
  /** Certificate authority (PEM). */
  ca?: string | undefined;
  poolSize: number;
  /** Shown by Postgres in pg_stat_activity. */
  program: string;
  /** Default: 30 s. 0: no timeout, for commands that a person watches; they need a session (pooler.ts). */
  statementTimeoutMs?: number;
}

const CONNECT_TIMEOUT_MS = 3_000;
/**
 * A connection stays open for this time without use. A new one makes Postgres load its catalog and plan all statements again:
 * with 10 s, it needed a quarter more CPU time for texts after a pause. A longer time would delay a failover
 * (unresponsive-postgres.ts).
 */
const IDLE_TIMEOUT_MS = 30_000;
const STATEMENT_TIMEOUT_MS = 30_000;
/** SQLSTATE read_only_sql_transaction. */
const READ_ONLY = '25006';
const MAX_NAMED_STATEMENTS = 500;
/** Prisma's defaults (2 s and 5 s) are too short for a process that was paused for a moment. */
const TRANSACTION = { maxWait: 5_000, timeout: 10_000 };

/** Columns without a time zone contain UTC; the driver would read them in the zone of this process. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number) =>
    oid === TIMESTAMP ? readUtc : (pg.types.getTypeParser(oid) as (value: string) => unknown),
};
const TIMESTAMP: number = pg.types.builtins.TIMESTAMP;

const readUtc = (text: string): Date => new Date(`${text.replace(' ', 'T')}Z`);

/** Connections of a process to Postgres. */
interface PoolUsage {
  busy: number;
  idle: number;
  /** Statements and transactions that wait for a connection. */
  waiting: number;
  limit: number;
}

export function openDatabase(options: DatabaseOptions): Database {
  const { statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options;
  const pool = new pg.Pool({
    ...postgresConnection(options.url, options.ca),
    max: options.poolSize,
    application_name: options.program,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    pipeline: true,
  });
  closeUnresponsiveConnections(pool, statementTimeoutMs);
  pool.on('connect', (client) => setUpSession(client, statementTimeoutMs));
  // The pool drops a broken idle connection. Without a listener its error would end the process.
  pool.on('error', () => undefined);
  const nameOf = nameStatements();
  const adapter = new PrismaPg(pool, { statementNameGenerator: ({ sql }) => nameOf(sql) });
  const client = new PrismaClient({ adapter, transactionOptions: TRANSACTION });
  const disconnectPrisma = client.$disconnect.bind(client);
  return Object.assign(client, {
    async queryRows<Row>({ text, values }: Prisma.Sql) {
      return (await pool.query<Row & pg.QueryResultRow>({ name: nameOf(text), text, values, types: TYPES }))
        .rows;
    },
    async callFunction(sql: string, values: readonly unknown[]) {
      const statement = {
        name: nameOf(sql),
        text: sql,
        values: values as unknown[],
        rowMode: 'array',
      } as const;
      return (await pool.query<unknown[]>(statement)).rows[0]!;
    },
    readPoolUsage: (): PoolUsage => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
      limit: options.poolSize,
    }),
    async $disconnect() {
      await disconnectPrisma();
      if (!pool.ending) await pool.end();
    },
  });
}

/**
 * Sets what every statement of the session relies on. PgBouncer refuses a timeout among the startup parameters. Prisma writes
 * and reads times without their zone, as UTC; the default of a server is often the zone of its host.
 *
 * A server that became read-only lost a failover. Its connections are closed, so that the next ones reach the new primary.
 */
function setUpSession(client: PoolClient, statementTimeoutMs: number): void {
  const { connection } = client as Client;
  const close = () => void connection.stream.destroy();
  client.query(`SET TIME ZONE 'UTC'; SET statement_timeout = ${statementTimeoutMs}`).catch(close);
  connection.on('errorMessage', ({ code }: DatabaseError) => code === READ_ONLY && close());
}

/** Statements beyond the limit stay unnamed (''), because a connection keeps every named statement until it closes. */
function nameStatements(): (sql: string) => string {
  const names = new Map<string, string>();
  return (sql) => {
    let name = names.get(sql);
    if (name === undefined && names.size < MAX_NAMED_STATEMENTS) {
      name = `gwk${names.size}`;
      names.set(sql, name);
    }
    return name ?? '';
  };
}

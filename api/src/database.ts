import { PrismaPg } from '@prisma/adapter-pg';
import { postgresConnection } from './postgres-connection.js';
import { PrismaClient } from './generated/prisma/client.js';

/**
 * The one way to Postgres. Ordinary paths use the client's models; the paths of every message use `$queryRaw` with
 * arrays (one statement for a group). Statements are prepared once a connection and named by their text: without
 * names, planning costs more than executing.
 */
export type Database = PrismaClient;

/** A client or the inside of a transaction. */
export type Queryable = Pick<
  PrismaClient,
  '$queryRawUnsafe' | '$executeRawUnsafe' | '$queryRaw' | '$executeRaw'
>;

export interface DatabaseOptions {
  url: string;
  /** Certificate authority (PEM). */
  ca?: string | undefined;
  poolSize: number;
  /** Shown by Postgres in pg_stat_activity. */
  program: string;
}

const CONNECT_TIMEOUT_MS = 3_000;
const STATEMENT_TIMEOUT_MS = 30_000;
const MAX_NAMED_STATEMENTS = 500;

/** How a process uses its connections to Postgres. */
export interface PoolUse {
  busy: number;
  idle: number;
  /** Statements and transactions without a connection yet. */
  waiting: number;
  limit: number;
}

const pools = new WeakMap<Database, () => PoolUse>();

/** Of a database that `openDatabase` has opened. */
export function poolUseOf(db: Database): PoolUse {
  return pools.get(db)!();
}

/** The adapter makes the pool when the first statement comes. */
class ObservedPg extends PrismaPg {
  #pool: ReturnType<Awaited<ReturnType<PrismaPg['connect']>>['underlyingDriver']> | undefined;

  override async connect() {
    const adapter = await super.connect();
    this.#pool = adapter.underlyingDriver();
    return adapter;
  }

  use(limit: number): PoolUse {
    const { totalCount = 0, idleCount = 0, waitingCount = 0 } = this.#pool ?? {};
    return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount, limit };
  }
}

export function openDatabase(options: DatabaseOptions): Database {
  const adapter = new ObservedPg(
    {
      ...postgresConnection(options.url, options.ca),
      max: options.poolSize,
      application_name: options.program,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
    },
    { statementNameGenerator: nameStatements() },
  );
  const database = new PrismaClient({ adapter });
  pools.set(database, () => adapter.use(options.poolSize));
  return database;
}

/** Texts beyond the bound stay unnamed (''): a name is kept by every connection for ever. */
function nameStatements(): (query: { sql: string }) => string {
  const names = new Map<string, string>();
  return ({ sql }) => {
    let name = names.get(sql);
    if (name === undefined && names.size < MAX_NAMED_STATEMENTS) {
      name = `gwk${names.size}`;
      names.set(sql, name);
    }
    return name ?? '';
  };
}

import { PrismaPg } from '@prisma/adapter-pg';
import { Pipeline } from './pipeline.js';
import { postgresConnection } from './connection.js';
import { PrismaClient } from '../generated/prisma/client.js';
import { endWhenSilent } from './unresponsive-postgres.js';

/**
 * The one way to Postgres. Ordinary paths use the client's models; the paths of every message use `$queryRaw` with
 * arrays (one statement for a group). Statements are prepared once a connection and named by their text: without
 * names, planning costs more than executing.
 */
export type Database = PrismaClient & Calls;

interface Calls {
  /**
   * One statement by the client's own connections and names, past its machinery (100 us a call) and past the driver's
   * adapter, whose debugging keeps the values of the last hundred statements: for what groups of messages run, outside
   * transactions.
   * @param values text, numbers and booleans; arrays as Postgres reads them (messages/accept/arrays.ts)
   * @returns the only row, a value for each of its columns
   * @throws what the driver throws: `sqlStateOf` reads it
   */
  callFunction: Call;
  /** The same for a function of many rows. */
  callRows: (sql: string, values: readonly unknown[]) => Promise<readonly (readonly unknown[])[]>;
  /** The same behind those that were called before it, over one connection (pipeline.ts). */
  callInLine: Call;
}

export type Call = (sql: string, values: readonly unknown[]) => Promise<readonly unknown[]>;

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
  /** 30 s where absent; 0: as long as it takes, where somebody watches. */
  statementTimeoutMs?: number;
}

const CONNECT_TIMEOUT_MS = 3_000;
const STATEMENT_TIMEOUT_MS = 30_000;
const MAX_NAMED_STATEMENTS = 500;
/**
 * Until a transaction has begun, and until it is rolled back. Prisma's own 2 s and 5 s are over before a process that
 * stood still for a moment has read Postgres's answer; what no request may take longer than is judged there.
 */
const TRANSACTION = { maxWait: 5_000, timeout: 10_000 };

/** How a process uses its connections to Postgres. */
export interface PoolUse {
  busy: number;
  idle: number;
  /** Statements and transactions without a connection yet. */
  waiting: number;
  limit: number;
}

type Connected = Awaited<ReturnType<PrismaPg['connect']>>;

const opened = new WeakMap<Database, { adapter: SharedPg; poolSize: number }>();

/** Of a database that `openDatabase` has opened. */
export function poolUseOf(db: Database): PoolUse {
  const { adapter, poolSize } = opened.get(db)!;
  return adapter.use(poolSize);
}

/** The adapter that the client uses, kept: it makes the pool when it connects. */
class SharedPg extends PrismaPg {
  #connected: Connected | undefined;
  readonly #statementTimeoutMs: number;

  constructor(statementTimeoutMs: number, ...options: ConstructorParameters<typeof PrismaPg>) {
    super(...options);
    this.#statementTimeoutMs = statementTimeoutMs;
  }

  override async connect() {
    this.#connected = await super.connect();
    endWhenSilent(this.#connected.underlyingDriver(), this.#statementTimeoutMs);
    return this.#connected;
  }

  async connected(client: PrismaClient): Promise<Connected> {
    if (this.#connected === undefined) await client.$connect();
    return this.#connected!;
  }

  use(limit: number): PoolUse {
    const { totalCount = 0, idleCount = 0, waitingCount = 0 } = this.#connected?.underlyingDriver() ?? {};
    return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount, limit };
  }
}

export function openDatabase(options: DatabaseOptions): Database {
  const nameOf = nameStatements();
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
  const adapter = new SharedPg(
    statementTimeoutMs,
    {
      ...postgresConnection(options.url, options.ca),
      max: options.poolSize,
      application_name: options.program,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: statementTimeoutMs,
      pipeline: true,
    },
    { statementNameGenerator: ({ sql }) => nameOf(sql) },
  );
  const client = new PrismaClient({ adapter, transactionOptions: TRANSACTION });
  const pipeline = new Pipeline();
  const connected = async () => (await adapter.connected(client)).underlyingDriver();
  const statement = (sql: string, values: readonly unknown[]) =>
    ({ name: nameOf(sql), text: sql, values: values as unknown[], rowMode: 'array' }) as const;
  const callRows = async (sql: string, values: readonly unknown[]) =>
    (await (await connected()).query<unknown[]>(statement(sql, values))).rows;
  const database = Object.assign(client, {
    callRows,
    callFunction: async (sql: string, values: readonly unknown[]) => (await callRows(sql, values))[0]!,
    async callInLine(sql: string, values: readonly unknown[]) {
      const [row] = await pipeline.query(await connected(), statement(sql, values));
      return row!;
    },
  });
  opened.set(database, { adapter, poolSize: options.poolSize });
  return database;
}

/** Texts beyond the bound stay unnamed (''): a name is kept by every connection for ever. */
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

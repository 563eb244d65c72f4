import { PrismaPg } from '@prisma/adapter-pg';
import { Pipeline } from './pipeline.js';
import { postgresConnection } from './connection.js';
import { PrismaClient } from '../generated/prisma/client.js';
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
  /** The same for a function that returns rows: objects by column. */
  callRows: (sql: string, values: readonly unknown[]) => Promise<Record<string, unknown>[]>;
  /** The same through the pipelined connection (pipeline.ts). */
  callPipelined: Call;
  readPoolUsage(): PoolUsage;
}

export type Call = (sql: string, values: readonly unknown[]) => Promise<readonly unknown[]>;

/** A client or a transaction. */
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
  /** Default: 30 s. 0: no timeout, for commands that a person watches. */
  statementTimeoutMs?: number;
}

const CONNECT_TIMEOUT_MS = 3_000;
const STATEMENT_TIMEOUT_MS = 30_000;
const MAX_NAMED_STATEMENTS = 500;
/** Prisma's defaults (2 s and 5 s) are too short for a process that was paused for a moment. */
const TRANSACTION = { maxWait: 5_000, timeout: 10_000 };

/** Connections of a process to Postgres. */
interface PoolUsage {
  busy: number;
  idle: number;
  /** Statements and transactions that wait for a connection. */
  waiting: number;
  limit: number;
}

type Connected = Awaited<ReturnType<PrismaPg['connect']>>;

/** Keeps the connected adapter, because Prisma creates its pool when it connects. */
class PoolAdapter extends PrismaPg {
  #connected: Connected | undefined;
  readonly #statementTimeoutMs: number;

  constructor(statementTimeoutMs: number, ...options: ConstructorParameters<typeof PrismaPg>) {
    super(...options);
    this.#statementTimeoutMs = statementTimeoutMs;
  }

  override async connect() {
    this.#connected = await super.connect();
    closeUnresponsiveConnections(this.#connected.underlyingDriver(), this.#statementTimeoutMs);
    return this.#connected;
  }

  async connected(client: PrismaClient): Promise<Connected> {
    if (this.#connected === undefined) await client.$connect();
    return this.#connected!;
  }

  usage(limit: number): PoolUsage {
    const { totalCount = 0, idleCount = 0, waitingCount = 0 } = this.#connected?.underlyingDriver() ?? {};
    return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount, limit };
  }
}

export function openDatabase(options: DatabaseOptions): Database {
  const nameOf = nameStatements();
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS;
  const adapter = new PoolAdapter(
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
  return Object.assign(client, {
    async callRows(sql: string, values: readonly unknown[]) {
      const byColumn = { name: nameOf(sql), text: sql, values: values as unknown[] };
      return (await (await connected()).query<Record<string, unknown>>(byColumn)).rows;
    },
    async callFunction(sql: string, values: readonly unknown[]) {
      const { rows } = await (await connected()).query<unknown[]>(statement(sql, values));
      return rows[0]!;
    },
    async callPipelined(sql: string, values: readonly unknown[]) {
      const [row] = await pipeline.query(await connected(), statement(sql, values));
      return row!;
    },
    readPoolUsage: () => adapter.usage(options.poolSize),
  });
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

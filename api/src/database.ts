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

export function openDatabase(options: DatabaseOptions): Database {
  const adapter = new PrismaPg(
    {
      ...postgresConnection(options.url, options.ca),
      max: options.poolSize,
      application_name: options.program,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
    },
    { statementNameGenerator: nameStatements() },
  );
  return new PrismaClient({ adapter });
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

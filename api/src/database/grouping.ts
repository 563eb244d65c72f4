import { DatabaseError } from 'pg';

/**
 * Many engines send a few items each, and a statement costs as much as several items. A batch therefore waits for more items
 * once three more calls can be expected within this time (api/src/platform/batcher.ts). A message passes two such batches on its way out.
 */
export const LINGER = { minItems: 24, maxWaitMs: 15 };

/** Outcomes can wait longer: the message was sent, and the engine holds the next ones of its conversation. */
export const LINGER_OUTCOMES = { minItems: 64, maxWaitMs: 40 };

/**
 * Decides whether one item may have failed the whole batch, which Postgres rolled back. The batcher then runs the halves of
 * the batch separately. A lost connection is no such case, because retries would only multiply the waiting time.
 */
export function isRolledBack(error: unknown): boolean {
  const sqlState = readSqlState(error);
  // Data exception, integrity violation, transaction rollback, program limit (a value too large), PL/pgSQL error.
  return sqlState !== null && /^(22|23|40|54|P0)/.test(sqlState);
}

export const LOCK_NOT_AVAILABLE = '55P03';

interface Cause {
  originalCode?: string;
  code?: string;
}

/**
 * Reads the SQLSTATE of an error of Prisma's raw queries or of the driver (`callFunction`, `queryRows`). Other errors, for
 * example of sockets, have codes that do not show whether the statement ran.
 */
export function readSqlState(error: unknown): string | null {
  if (error instanceof DatabaseError) return error.code ?? null;
  if (!(error instanceof Error)) return null;
  const cause = (error as { meta?: { driverAdapterError?: { cause?: Cause } } }).meta?.driverAdapterError
    ?.cause;
  return cause?.originalCode ?? cause?.code ?? null;
}

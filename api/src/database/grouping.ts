import { DatabaseError } from 'pg';

/**
 * For claims and built messages. Many engines send a few items each, and a statement costs as much as several items. A batch
 * therefore waits for more items once three more calls can be expected within this time (core/src/batcher.ts). It waits long
 * only while another batch runs, because a message waits for one or two of them on its way out.
 */
export const LINGER = { minItems: 48, maxWaitMs: 40, idleTimeoutMs: 8 };

/** Outcomes can wait longer, because their messages were sent. */
export const LINGER_OUTCOMES = { minItems: 128, maxWaitMs: 100, idleTimeoutMs: 20 };

/**
 * Decides whether one item may have failed the whole batch, which Postgres rolled back. The batcher then runs the halves of
 * the batch separately. A lost connection is no such case, because retries would only multiply the waiting time.
 */
export function isRolledBack(error: unknown): boolean {
  const sqlState = readSqlState(error);
  // Data exception, integrity violation, transaction rollback, program limit (a value too large), PL/pgSQL error.
  return sqlState !== null && /^(22|23|40|54|P0)/.test(sqlState);
}

interface Cause {
  originalCode?: string;
  code?: string;
}

/**
 * Reads the SQLSTATE of an error of Prisma's raw queries or of the driver (`callFunction`). Other errors, for example of
 * sockets, have codes that do not show whether the statement ran.
 */
export function readSqlState(error: unknown): string | null {
  if (error instanceof DatabaseError) return error.code ?? null;
  if (!(error instanceof Error)) return null;
  const cause = (error as { meta?: { driverAdapterError?: { cause?: Cause } } }).meta?.driverAdapterError
    ?.cause;
  return cause?.originalCode ?? cause?.code ?? null;
}

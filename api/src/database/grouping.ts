import { DatabaseError } from 'pg';

/**
 * What is said for many messages a second comes from many engines, a little from each: a group waits for company once
 * three can be expected in this time (core/src/batcher.ts). A statement costs as much as several of its items, here and
 * in Postgres, and a message passes two such groups on its way out.
 */
export const LINGER = { minItems: 24, maxWaitMs: 15 };

/** When an outcome is told the message has left: only the next one of its conversation waits for it. */
export const LINGER_OUTCOMES = { minItems: 64, maxWaitMs: 40 };

/**
 * Whether a rejected group may hold one item that Postgres refused: then the batcher runs its halves apart. Without
 * a connection, running again would only multiply the waiting. A group is one statement, so a refused one left
 * nothing behind; what was written although the answer was lost is not changed by coming again.
 */
export function isUndone(error: unknown): boolean {
  const sqlState = sqlStateOf(error);
  // Data exception, integrity constraint, program limit (a value too large); and what was rolled back in favour of
  // another transaction.
  return sqlState !== null && /^(22|23|40|54|P0)/.test(sqlState);
}

interface Cause {
  originalCode?: string;
  code?: string;
}

/**
 * The SQLSTATE of a failed raw query, as Prisma passes it on; of `callFunction`, as the driver does. Causes of other
 * errors have codes of their own (of sockets), which say nothing of what became of a statement.
 */
export function sqlStateOf(error: unknown): string | null {
  if (error instanceof DatabaseError) return error.code ?? null;
  if (!(error instanceof Error)) return null;
  const cause = (error as { meta?: { driverAdapterError?: { cause?: Cause } } }).meta?.driverAdapterError
    ?.cause;
  return cause?.originalCode ?? cause?.code ?? null;
}

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

/** The SQLSTATE of a failed raw query, as Prisma passes it on. */
export function sqlStateOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { meta } = error as {
    meta?: { driverAdapterError?: { cause?: { originalCode?: string; code?: string } } };
  };
  const cause = meta?.driverAdapterError?.cause;
  return cause?.originalCode ?? cause?.code ?? null;
}

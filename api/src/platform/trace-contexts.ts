import { tracing } from '@gwk/core/tracing/tracing';
import type { Queryable } from '../database/database.js';

/**
 * What the next span of a message or of an event goes on from, kept in Postgres: a message may wait for hours, leave
 * by another engine than the one that was rung, and its webhook be tried again the next day. Written before what it
 * is of, so that nobody finds that without it; what comes to nothing is left to retention.
 *
 * A trace is never worth a message: where this fails, the trace ends here and the message goes on.
 */
export type TraceContext = readonly [id: string, traceparent: string | null];

export async function keepContexts(db: Queryable, contexts: readonly TraceContext[]): Promise<void> {
  const kept = contexts.filter(([, traceparent]) => traceparent !== null);
  if (kept.length === 0) return;
  const [ids, traceparents] = [kept.map(([id]) => id), kept.map(([, traceparent]) => traceparent)];
  try {
    await db.$queryRaw`
      INSERT INTO trace_contexts (id, traceparent)
      SELECT * FROM unnest(${ids}::uuid[], ${traceparents}::text[]) ON CONFLICT (id) DO NOTHING`;
  } catch {
    // What writes the message next meets the same Postgres, and tells of it.
  }
}

/** By id. Nothing is asked while traces are off. */
export async function readContexts(
  db: Queryable,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (!tracing.on || ids.length === 0) return NONE;
  try {
    const rows = await db.$queryRaw<{ id: string; traceparent: string }[]>`
      SELECT id, traceparent FROM trace_contexts WHERE id = ANY (${[...ids]}::uuid[])`;
    return new Map(rows.map(({ id, traceparent }) => [id, traceparent]));
  } catch {
    return NONE;
  }
}

const NONE: ReadonlyMap<string, string> = new Map();

import { tracing } from '@gwk/core/tracing/tracing';
import type { Queryable } from '../database/database.js';

export type TraceContext = readonly [id: string, traceparent: string | null];

/**
 * Stores the parent of the next span of a message or an event in Postgres: a message may wait for hours, and its webhook may
 * be retried the next day. The context is written before its message or event; retention removes unused ones.
 *
 * If the write fails, the trace ends and the message continues.
 */
export async function keepContexts(db: Queryable, contexts: readonly TraceContext[]): Promise<void> {
  const kept = contexts.filter(([, traceparent]) => traceparent !== null);
  if (kept.length === 0) return;
  const [ids, traceparents] = [kept.map(([id]) => id), kept.map(([, traceparent]) => traceparent)];
  try {
    await db.$queryRaw`
      INSERT INTO trace_contexts (id, traceparent)
      SELECT * FROM unnest(${ids}::uuid[], ${traceparents}::text[]) ON CONFLICT (id) DO NOTHING`;
  } catch {
    // Not logged: the write of the message uses the same Postgres and reports its errors.
  }
}

/** Reads trace contexts by id; no query while tracing is off. */
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

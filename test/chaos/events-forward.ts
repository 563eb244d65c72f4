import { setTimeout as sleep } from 'node:timers/promises';
import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import type { EventOut } from '@gwk/api/resources/event';
import type { Page } from '@gwk/core/resources/common';
import pg from 'pg';
import { UnexpectedAnswer, type GatewayClient } from '../support/gateway/client.js';

/** Copies an event: its encrypted data belongs to the account, not to the id. */
const COPY = `
  INSERT INTO events (id, account_id, instance_id, type, "timestamp", data_sealed)
  SELECT copy.id, account_id, instance_id, type, "timestamp", data_sealed
  FROM events, unnest($2::uuid[]) AS copy(id) WHERE events.id = $1`;

interface Writing {
  databaseUrl: string;
  /** Id of the event that is copied. */
  source: string;
  writers: number;
  /** Per writer. */
  transactions: number;
  /** Per transaction, in two statements with a pause of up to 200 ms between them. */
  events: number;
}

/** The public ids in the order of writing. The last event is written when all others are committed. */
export async function writeEvents({ databaseUrl, source, ...plan }: Writing): Promise<string[]> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: plan.writers });
  const written: string[] = [];
  const write = async (events: number, holdMs: number): Promise<void> => {
    const ids = Array.from({ length: events }, newUuid);
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      await client.query(COPY, [source, ids.slice(1)]);
      await sleep(holdMs);
      await client.query(COPY, [source, ids.slice(0, 1)]);
      await client.query('COMMIT');
    } finally {
      client.release();
    }
    written.push(...ids.map((id) => toPublicId('event', id)));
  };
  const writer = async (_: unknown, index: number): Promise<void> => {
    for (let n = 0; n < plan.transactions; n++) await write(plan.events, (index * 37 + n * 11) % 200);
  };
  try {
    await Promise.all(Array.from({ length: plan.writers }, writer));
    await write(1, 0);
  } finally {
    await pool.end();
  }
  return written;
}

interface Forward extends Page<EventOut> {
  next_cursor: string;
}

interface Reading {
  clients: GatewayClient[];
  after: string;
  /** Called after each page with the number of different events read. */
  onRead: (count: number) => void;
  /** The last event, once it is known. */
  last: Promise<string>;
}

/**
 * Reads events forward up to the last one, as a program does: from one API and the other, and after a failed call again
 * with the same cursor. Returns how often it read each.
 */
export async function readEvents({ clients, after, onRead, last }: Reading): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  let end: string | undefined;
  void last.then((id) => (end = id));
  for (let call = 0; end === undefined || !counts.has(end); call++) {
    const query = new URLSearchParams({ after, limit: '200', wait: '1' });
    const path = `/v1/events?${query.toString()}`;
    try {
      const page = await clients[call % clients.length]!.expect<Forward>(200, 'GET', path);
      for (const { id } of page.data) counts.set(id, (counts.get(id) ?? 0) + 1);
      after = page.next_cursor;
      onRead(counts.size);
    } catch (error) {
      if (error instanceof UnexpectedAnswer && error.answer.status < 500) throw error;
      await sleep(50);
    }
  }
  return counts;
}

import { fromPublicId } from '@gwk/core/ids/ids';
import { RedisKeys, SENDS_MAXLEN } from '@gwk/core/protocol/redis-keys';
import pg from 'pg';
import { createClient } from 'redis';
import type { Gateway } from '../support/gateway/gateway.js';

/**
 * Copies an accepted, waiting message `copies` times to the end of its conversation: the same rows and
 * notifications as that many posts. Posting 50,000 messages takes minutes on two cores, and the test is about
 * the queue.
 */
export async function floodConversation(gateway: Gateway, messageId: string, copies: number): Promise<void> {
  const client = new pg.Client({ connectionString: gateway.settings.databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ message_id: string; instance_id: string }>(COPY, [
      fromPublicId('message', messageId),
      copies,
    ]);
    await notifyEngine(gateway, rows);
  } finally {
    await client.end();
  }
}

const COPY = `
  WITH original AS (
    SELECT m.*, c.content_sealed, o.offline_ms_at_start
    FROM messages m JOIN message_contents c ON c.message_id = m.id JOIN outbox o ON o.message_id = m.id
    WHERE m.id = $1
  ), place AS (
    UPDATE conversations
    SET last_seq = last_seq + $2, days = gwk_merge_days(days, ARRAY[gwk_id_day(gwk_new_id())])
    FROM original WHERE conversations.id = original.conversation_id
    RETURNING last_seq - $2 AS last_seq
  ), copies AS (
    SELECT n, gwk_new_id() AS id, upper(md5(random()::text)) AS wa_message_id
    FROM generate_series(1, $2::int) AS n
  ), logged AS (
    INSERT INTO messages (id, account_id, instance_id, conversation_id, direction, "to", type, status,
      wa_message_id, created_at, updated_at)
    SELECT copies.id, account_id, instance_id, conversation_id, direction, "to", type, 'queued',
      copies.wa_message_id, now(), now()
    FROM copies, original
  ), sealed AS (
    INSERT INTO message_contents (message_id, instance_id, content_sealed)
    SELECT copies.id, instance_id, content_sealed FROM copies, original
  )
  INSERT INTO outbox (message_id, instance_id, conversation_id, seq, state, head, offline_ms_at_start, created_at)
  SELECT copies.id, instance_id, conversation_id, place.last_seq + n, 'waiting', false, offline_ms_at_start, now()
  FROM copies, original, place ORDER BY n
  RETURNING message_id, instance_id`;

async function notifyEngine(
  gateway: Gateway,
  rows: { message_id: string; instance_id: string }[],
): Promise<void> {
  const redis = createClient({ url: gateway.settings.redisUrl });
  redis.on('error', () => undefined);
  await redis.connect();
  try {
    const stream = new RedisKeys(gateway.settings.redisPrefix).sends(rows[0]!.instance_id);
    const last = rows.slice(-SENDS_MAXLEN);
    await Promise.all(last.map(({ message_id }) => redis.xAdd(stream, '*', { m: message_id })));
  } finally {
    redis.destroy();
  }
}

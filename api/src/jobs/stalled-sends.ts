import { Prisma } from '../generated/prisma/client.js';

/**
 * SQL for the longest time in seconds for which a connected instance has sent and claimed nothing although a message of it
 * is due; null: none is due. Times over an hour count as an hour.
 *
 * Pacing lets at least one message a minute leave, so the age of the oldest message does not show a stall; claims
 * (`claimed_at`) and `message.sent` events do. Failures do not count: jobs also fail messages that a hanging engine holds.
 * An offline instance is not stalled.
 *
 * Each lookup uses an index and stops at its first row: the first due message of the instance, its claims (at most 500) and
 * its newest events of an hour. OFFSET 0 keeps the planner from reading all sent events of the account by type.
 */
export const STALLED_SECONDS = Prisma.sql`
  SELECT extract(epoch FROM now() - min(
    GREATEST(first.head_since, i.state_changed_at, claimed.at, sent.at, now() - interval '1 hour')))::float8
  FROM instances i
  JOIN accounts a ON a.id = i.account_id
  CROSS JOIN LATERAL (
    SELECT o.head_since FROM outbox o
    WHERE o.instance_id = i.id AND o.head AND o.prepared AND o.state = 'waiting'
    ORDER BY o.head_since LIMIT 1) AS first
  CROSS JOIN LATERAL (
    SELECT max(o.claimed_at) AS at FROM outbox o
    WHERE o.instance_id = i.id AND o.claim_id IS NOT NULL) AS claimed
  LEFT JOIN LATERAL (
    SELECT e.at FROM (
      SELECT e.type, e."timestamp" AS at FROM events e
      WHERE e.instance_id = i.id AND e.id >= gwk_lowest_id(now() - interval '1 hour')
      ORDER BY e.id DESC OFFSET 0) AS e
    WHERE e.type = 'message.sent' LIMIT 1) AS sent ON true
  WHERE i.state = 'connected' AND i.deleted_at IS NULL AND a.suspended_at IS NULL`;

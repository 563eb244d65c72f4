import { Prisma } from '../generated/prisma/client.js';

/**
 * SQL: for how many seconds the number that has stood still longest has sent and claimed nothing, although a message of
 * it is due; null where none is due. An hour stands for whatever is longer.
 *
 * Pacing lets at least one message a minute go (policy.ts), so a campaign moves however late its last message is, and
 * the oldest message says nothing of it. What moves leaves two traces: what is claimed now (`claimed_at`), and the
 * event `message.sent` of what has gone, whose row in the outbox is gone too. Failures are no trace: jobs make them
 * as well, of messages that a hanging engine holds. Nor does a number stand still while it is away, or before its
 * message is due.
 *
 * Each look-up is by an index and ends with what it finds first: the head of the instance's turns, of those that have
 * one the claims that they hold (500 at most), and their newest events, an hour's at most (OFFSET 0: by type, all that the
 * account has sent would be read). However much waits, of each instance one message is read.
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

-- Heads that have waited `min_wait_ms` for a connected instance without a notification in that time; it may have been
-- lost. A few per instance are enough, because an engine claims everything. Sets notified_at.
CREATE OR REPLACE FUNCTION gwk_renotify(min_wait_ms integer, per_instance integer)
RETURNS TABLE (instance_id uuid, message_id uuid)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
#variable_conflict use_column
DECLARE
  before timestamptz := now() - min_wait_ms * interval '1 millisecond';
BEGIN
  RETURN QUERY
  WITH due AS MATERIALIZED (
    SELECT o.message_id
    FROM gwk_waiting_instances() AS w
    CROSS JOIN LATERAL (
      SELECT h.message_id, h.notified_at FROM outbox h
      WHERE h.instance_id = w.instance_id AND h.head AND h.prepared AND h.state = 'waiting' AND h.head_since <= before
      ORDER BY h.head_since, h.message_id LIMIT per_instance
    ) AS oldest
    JOIN outbox o ON o.message_id = oldest.message_id
    WHERE w.state = 'connected' AND NOT w.deleted AND w.suspended_ms IS NULL
      AND o.state = 'waiting' AND (o.notified_at IS NULL OR o.notified_at <= before)
    ORDER BY o.message_id FOR NO KEY UPDATE OF o SKIP LOCKED
  )
  UPDATE outbox o SET notified_at = now() FROM due d WHERE o.message_id = d.message_id
  RETURNING o.instance_id, o.message_id;
END $$;

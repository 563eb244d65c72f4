-- Waiting, unattempted messages of an instance, oldest heads first. Either they were queued when its offline clock was
-- at most `max_offline_ms`, and no later than `waiting_since`. Or they were accepted no later than `accepted_until`
-- (suspended account). NULL disables a condition. `waiting_since` is needed because the clock jumps forward when an
-- engine is found unresponsive. Only conversations with an old head are read, because the head has waited longest.
CREATE OR REPLACE FUNCTION gwk_waiting_messages(
  instance uuid, max_offline_ms bigint, waiting_since timestamptz, accepted_until timestamptz, max_messages integer
)
RETURNS TABLE (message_id uuid)
LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
SET enable_sort = off
AS $$
  SELECT e.message_id
  FROM outbox h
  CROSS JOIN LATERAL (
    SELECT o.message_id FROM outbox o
    WHERE o.conversation_id = h.conversation_id AND o.seq >> 4 IS NOT NULL AND o.attempted_at IS NULL
      AND (o.offline_ms_at_start <= max_offline_ms AND coalesce(o.release_at, o.created_at) <= waiting_since
        OR o.created_at <= accepted_until)
    ORDER BY o.seq >> 4, o.seq LIMIT max_messages
  ) AS e
  WHERE h.instance_id = instance AND h.head
    AND (h.offline_ms_at_start <= max_offline_ms OR h.created_at <= accepted_until)
  ORDER BY h.head_since, h.message_id LIMIT max_messages
$$;

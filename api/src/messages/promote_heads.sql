-- Makes the first waiting entry the head of each conversation that has none. The caller holds the locks of the
-- conversations.
CREATE OR REPLACE FUNCTION gwk_promote_heads(conversations uuid[]) RETURNS void
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  UPDATE outbox o SET head = true, head_since = now()
  FROM unnest(conversations) AS c(id)
  CROSS JOIN LATERAL (
    SELECT e.message_id, e.head FROM outbox e
    WHERE e.conversation_id = c.id AND e.seq >> 4 IS NOT NULL
    ORDER BY e.seq >> 4, e.seq LIMIT 1
  ) AS next
  WHERE o.message_id = next.message_id AND NOT next.head;
END $$;

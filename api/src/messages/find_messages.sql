-- Ids of messages by their network ids: of the given conversation, or without one the outbound message of the
-- instance. NULL: not found. `message_ids`: the ids that are known already.
--
-- The last three days are searched first, then all days. A receipt rarely comes later, and a search of all days opens
-- every partition.
CREATE OR REPLACE FUNCTION gwk_find_messages(
  message_ids uuid[], instance_ids uuid[], conversation_ids uuid[], wa_message_ids text[]
) RETURNS uuid[]
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
DECLARE
  first CONSTANT uuid := gwk_lowest_id(to_timestamp(0));
  since uuid := gwk_lowest_id(now() - interval '3 days');
  -- Excludes the partitions created a week ahead.
  until uuid := gwk_lowest_id(now() + interval '1 day');
  ids uuid[] := message_ids;
BEGIN
  WHILE ids IS NULL OR array_position(ids, NULL) IS NOT NULL LOOP
    ids := ARRAY(
      SELECT COALESCE(q.id, (
        SELECT m.id FROM messages m
        WHERE gwk_equals_by_hash(m.wa_message_id, q.wa_message_id)
          AND m.instance_id = q.instance_id AND m.id >= since AND m.id < until
          AND CASE WHEN q.conversation_id IS NULL THEN m.direction = 'outbound'
            ELSE m.conversation_id = q.conversation_id END
        ORDER BY gwk_hash_high(m.wa_message_id) LIMIT 1))
      FROM unnest(ids, instance_ids, conversation_ids, wa_message_ids) WITH ORDINALITY
        AS q(id, instance_id, conversation_id, wa_message_id, place)
      ORDER BY q.place);
    EXIT WHEN since = first;
    until := since;
    since := first;
  END LOOP;
  RETURN ids;
END $$;

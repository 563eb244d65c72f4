-- Ids of messages by their network ids in conversations, as gwk_find_messages finds them, but only of some authors. NULL:
-- not found. Senders choose their ids, so another message with the same id must not hide the wanted one.
-- directions: 'inbound' or 'outbound'. participants: for each message an array of network ids in a group.
-- NULL or null: any.
CREATE OR REPLACE FUNCTION gwk_find_authored(
  instance_ids uuid[], conversation_ids uuid[], wa_message_ids text[], directions text[], participants jsonb
) RETURNS uuid[]
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
DECLARE
  first CONSTANT uuid := gwk_lowest_id(to_timestamp(0));
  since uuid := gwk_lowest_id(now() - interval '3 days');
  until uuid := gwk_lowest_id(now() + interval '1 day');
  ids uuid[];
BEGIN
  WHILE ids IS NULL OR array_position(ids, NULL) IS NOT NULL LOOP
    ids := ARRAY(
      SELECT COALESCE(ids[q.place], (
        SELECT m.id FROM messages m
        WHERE gwk_equals_by_hash(m.wa_message_id, q.wa_message_id)
          AND m.instance_id = q.instance_id AND m.id >= since AND m.id < until
          AND m.conversation_id = q.conversation_id
          AND (q.direction IS NULL OR m.direction = q.direction)
          AND (jsonb_typeof(participants -> (q.place - 1)::integer) IS DISTINCT FROM 'array'
            OR participants -> (q.place - 1)::integer ? m.participant)
        ORDER BY gwk_hash_high(m.wa_message_id) LIMIT 1))
      FROM unnest(instance_ids, conversation_ids, wa_message_ids, directions) WITH ORDINALITY
        AS q(instance_id, conversation_id, wa_message_id, direction, place)
      ORDER BY q.place);
    EXIT WHEN since = first;
    until := since;
    since := first;
  END LOOP;
  RETURN ids;
END $$;

-- Messages of conversations by their network ids: last three days first, then all. One row for each.
CREATE OR REPLACE FUNCTION gwk_receive_targets(instance_ids uuid[], conversation_ids uuid[], wa_message_ids text[])
RETURNS TABLE (message_id uuid, direction text, participant text)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
DECLARE
  recent_from uuid := gwk_lowest_id(now() - interval '3 days');
  found uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  found := ARRAY(
    SELECT (SELECT m.id FROM messages m
      WHERE gwk_equals_by_hash(m.wa_message_id, q.wa_message_id)
        AND m.instance_id = q.instance_id AND m.conversation_id = q.conversation_id AND m.id >= recent_from
      ORDER BY gwk_hash_high(m.wa_message_id) LIMIT 1)
    FROM unnest(instance_ids, conversation_ids, wa_message_ids) WITH ORDINALITY
      AS q(instance_id, conversation_id, wa_message_id, place)
    ORDER BY q.place);
  IF array_position(found, NULL) IS NOT NULL THEN
    found := ARRAY(
      SELECT COALESCE(q.id, (SELECT m.id FROM messages m
        WHERE gwk_equals_by_hash(m.wa_message_id, q.wa_message_id)
          AND m.instance_id = q.instance_id AND m.conversation_id = q.conversation_id AND m.id < recent_from
        ORDER BY gwk_hash_high(m.wa_message_id) LIMIT 1))
      FROM unnest(found, instance_ids, conversation_ids, wa_message_ids) WITH ORDINALITY
        AS q(id, instance_id, conversation_id, wa_message_id, place)
      ORDER BY q.place);
  END IF;
  SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(found) AS s;
  RETURN QUERY
  SELECT m.id, m.direction, m.participant
  FROM unnest(found) WITH ORDINALITY AS q(id, place)
  LEFT JOIN LATERAL (
    SELECT v.id, v.direction, v.participant FROM messages v
    WHERE v.id = q.id AND v.id = ANY (found) AND v.id BETWEEN lowest AND highest LIMIT 1) m ON true
  ORDER BY q.place;
END $$;

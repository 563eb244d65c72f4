-- Messages of an instance by their network ids, of any day.
CREATE OR REPLACE FUNCTION gwk_messages_by_network_id(instance uuid, names text[])
RETURNS TABLE (id uuid, conversation_id uuid, direction text, wa_message_id text, participant text)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT m.* FROM unnest(names) AS n(name)
  CROSS JOIN LATERAL (
    SELECT v.id, v.conversation_id, v.direction, v.wa_message_id, v.participant FROM messages v
    WHERE gwk_equals_by_hash(v.wa_message_id, n.name) AND v.instance_id = instance
    ORDER BY gwk_hash_high(v.wa_message_id)) AS m;
END $$;

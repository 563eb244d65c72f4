-- Events may follow days after their message, so `conversations.days` does not bound them.
CREATE OR REPLACE FUNCTION gwk_events_of_conversation(
  conversation uuid, instances uuid[], type_filter text, low uuid, high uuid, max_rows integer
)
RETURNS SETOF events LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT n.* FROM events n
  WHERE (n.conversation_id, gwk_id_bucket_4s(n.id)) >= (conversation, gwk_id_bucket_4s(low))
    AND (n.conversation_id, gwk_id_bucket_4s(n.id)) <= (conversation, gwk_id_bucket_4s(high))
    AND n.conversation_id IS NOT NULL AND n.id >= low AND n.id < high
    AND (instances IS NULL OR n.instance_id = ANY (instances)) AND (type_filter IS NULL OR n.type = type_filter)
  ORDER BY n.conversation_id DESC, gwk_id_bucket_4s(n.id) DESC, n.id DESC LIMIT max_rows;
END $$;

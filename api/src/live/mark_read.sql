-- Marks received messages of a conversation as read, and counts those received after them.
CREATE OR REPLACE FUNCTION gwk_mark_read(conversation uuid, ids uuid[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
  marked record := gwk_id_range(ids);
  lowest uuid := marked.lowest;
  highest uuid := marked.highest;
  newest uuid := (SELECT v.last_message_id FROM conversations v WHERE v.id = conversation FOR NO KEY UPDATE);
BEGIN
  UPDATE messages m SET status = 'read', read_at = now(), version = m.version + 1, updated_at = now()
  WHERE m.id = ANY (ids) AND m.id BETWEEN lowest AND highest AND m.status = 'delivered';
  -- A mark of an older message adds none.
  UPDATE conversations v SET unread = LEAST(v.unread, (
    SELECT count(*) FROM messages m
    WHERE (m.conversation_id, gwk_id_bucket_4s(m.id)) >= (conversation, gwk_id_bucket_4s(highest))
      AND (m.conversation_id, gwk_id_bucket_4s(m.id)) <= (conversation, gwk_id_bucket_4s(newest))
      AND m.id > highest AND m.id <= newest AND m.direction = 'inbound'))
  WHERE v.id = conversation AND v.unread > 0;
END $$;

-- Fails waiting messages that are still unattempted, claimed or not. Under the lock of its conversation no engine
-- starts to send a message. Arguments and result are those of gwk_update_messages.
CREATE OR REPLACE FUNCTION gwk_fail_unattempted(changes jsonb, events jsonb) RETURNS uuid[]
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
BEGIN
  PERFORM gwk_lock_conversations(ARRAY(SELECT c.id FROM jsonb_to_recordset(changes) AS c(id uuid)));
  SELECT coalesce(jsonb_agg(c.change), '[]') INTO changes
  FROM jsonb_array_elements(changes) AS c(change)
  JOIN outbox o ON o.message_id = (c.change ->> 'id')::uuid AND o.attempted_at IS NULL;
  RETURN gwk_update_messages(changes, events);
END $$;

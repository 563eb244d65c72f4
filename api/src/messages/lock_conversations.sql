-- Locks the conversations of queued messages. A message that left the queue never returns, so under these locks the set
-- of queued messages is final.
CREATE OR REPLACE FUNCTION gwk_lock_conversations(message_ids uuid[]) RETURNS void
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
DECLARE
  ids uuid[];
BEGIN
  LOOP
    ids := ARRAY(SELECT o.conversation_id FROM outbox o WHERE o.message_id = ANY (message_ids));
    PERFORM FROM conversations v WHERE v.id = ANY (ids) ORDER BY v.id FOR NO KEY UPDATE;
    -- A merge of contacts may have moved entries to another conversation meanwhile.
    EXIT WHEN NOT EXISTS (
      SELECT FROM outbox o WHERE o.message_id = ANY (message_ids) AND o.conversation_id <> ALL (ids));
  END LOOP;
END $$;

-- Marks a message as prepared and stores its final content. NULL: it no longer waits. Otherwise: whether it can be
-- claimed now.
CREATE OR REPLACE FUNCTION gwk_finish_preparation(message uuid, content bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  at_head boolean;
BEGIN
  PERFORM gwk_lock_conversations(ARRAY[message]);
  UPDATE outbox o SET prepared = true, prepare_at = NULL
  WHERE o.message_id = message AND NOT o.prepared
  RETURNING o.head INTO at_head;
  IF FOUND THEN
    UPDATE message_contents c SET content_sealed = content WHERE c.message_id = message;
  END IF;
  RETURN at_head;
END $$;

-- Records that a sent message was edited or deleted for everyone, with its event (as in gwk_update_messages). A deleted
-- message loses its content and accepts no replies. A second deletion changes nothing.
CREATE OR REPLACE FUNCTION gwk_edit_message(message uuid, deleted boolean, content bytea, event jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE messages m SET deleted_for_all = m.deleted_for_all OR deleted, version = m.version + 1, updated_at = now()
  WHERE m.id = message AND NOT m.deleted_for_all;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF deleted THEN
    DELETE FROM message_contents c WHERE c.message_id = message;
    DELETE FROM menus n WHERE n.message_id = message;
  ELSIF content IS NOT NULL THEN
    UPDATE message_contents c SET content_sealed = content WHERE c.message_id = message;
  END IF;
  PERFORM gwk_emit_items(event, ARRAY[message]);
  RETURN true;
END $$;

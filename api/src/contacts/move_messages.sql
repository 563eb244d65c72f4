-- Moves the unattempted messages to some phone numbers or LIDs from a conversation to that of another contact. The
-- caller holds both contacts. They first form a conversation of their own, which is then merged.
CREATE OR REPLACE FUNCTION gwk_move_messages(source_id uuid, instance uuid, target_contact uuid, recipients text[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  new_id uuid := gen_random_uuid();
  target_id uuid;
  moved uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  moved := ARRAY(
    SELECT o.message_id FROM outbox o WHERE o.conversation_id = source_id AND o.attempted_at IS NULL ORDER BY 1);
  SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(moved) AS s;
  moved := ARRAY(
    SELECT m.id FROM messages m
    WHERE m.id = ANY (moved) AND m.id BETWEEN lowest AND highest
      AND (m."to" = ANY (recipients) OR regexp_replace(m."to", '(:[0-9]+)?@s\.whatsapp\.net$', '') = ANY (recipients)));
  IF moved = '{}' THEN
    RETURN;
  END IF;

  INSERT INTO conversations (id, instance_id, group_id, days, last_seq, last_message_id)
  SELECT new_id, instance, 'moving ' || new_id, v.days, v.last_seq, (SELECT s.highest FROM gwk_id_range(moved) AS s)
  FROM conversations v WHERE v.id = source_id;
  UPDATE outbox o SET conversation_id = new_id, head = false WHERE o.message_id = ANY (moved);
  UPDATE outbox o SET head = true, head_since = COALESCE(o.head_since, now())
  FROM (
    SELECT DISTINCT ON (q.conversation_id) q.message_id FROM outbox q
    WHERE q.conversation_id IN (source_id, new_id) AND q.seq IS NOT NULL
      AND NOT EXISTS (SELECT FROM outbox h WHERE h.conversation_id = q.conversation_id AND h.head)
    ORDER BY q.conversation_id, q.seq
  ) AS first
  WHERE o.message_id = first.message_id;
  -- Cached facts of these messages are stale.
  UPDATE messages m SET conversation_id = new_id, version = m.version + 1
  WHERE m.id = ANY (moved) AND m.id BETWEEN lowest AND highest;
  UPDATE conversations v SET last_message_id = (
    SELECT m.id FROM gwk_messages_of_conversation(
      source_id, NULL, NULL, '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 1) AS m)
  WHERE v.id = source_id AND v.last_message_id = ANY (moved);

  target_id := (SELECT v.id FROM conversations v WHERE v.instance_id = instance AND v.contact_id = target_contact);
  IF target_id IS NULL THEN
    UPDATE conversations v SET contact_id = target_contact, group_id = NULL WHERE v.id = new_id;
  ELSE
    PERFORM gwk_merge_conversations(target_id, new_id);
  END IF;
END $$;

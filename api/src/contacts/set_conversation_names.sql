-- Stores the ids of a contact for the events of one instance. Claimed messages get a new version, because engines
-- report their outcome on cached facts.
CREATE OR REPLACE FUNCTION gwk_set_conversation_names(instance uuid, contact uuid, new_lid text, new_phone text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  conversation uuid;
  claimed uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  UPDATE conversations v SET lid = new_lid, phone = new_phone,
    username = CASE WHEN v.lid <> new_lid THEN NULL ELSE v.username END
  WHERE v.instance_id = instance AND v.contact_id = contact AND (v.lid, v.phone) IS DISTINCT FROM (new_lid, new_phone)
  RETURNING v.id INTO conversation;
  IF conversation IS NULL THEN
    RETURN;
  END IF;
  claimed := ARRAY(
    SELECT o.message_id FROM outbox o WHERE o.conversation_id = conversation AND o.state = 'claimed' ORDER BY 1);
  SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(claimed) AS s;
  UPDATE messages m SET version = m.version + 1 WHERE m.id = ANY (claimed) AND m.id BETWEEN lowest AND highest;
END $$;

-- Unattempted messages of a contact in the instances where it is opted out, those that an engine holds first. `sandbox`: in
-- this one only.
CREATE OR REPLACE FUNCTION gwk_waiting_messages_of_contact(contact uuid, sandbox uuid, max_messages integer)
RETURNS TABLE (message_id uuid)
LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
  SELECT w.message_id FROM conversations v
  -- OFFSET 0 forces a lookup per conversation; otherwise ORDER BY reads the whole queue by its primary key.
  CROSS JOIN LATERAL (
    SELECT o.message_id, o.state FROM outbox o WHERE o.conversation_id = v.id AND o.attempted_at IS NULL OFFSET 0) AS w
  WHERE v.contact_id = contact AND (sandbox IS NULL OR v.instance_id = sandbox)
    AND gwk_opted_out(contact, v.instance_id)
  ORDER BY w.state <> 'claimed', w.message_id LIMIT max_messages
$$;

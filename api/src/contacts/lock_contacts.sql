-- Locks contacts with all their conversations against concurrent accepts, opt-outs and merges.
CREATE OR REPLACE FUNCTION gwk_lock_contacts(ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM conversations v WHERE v.contact_id = ANY (ids) ORDER BY v.id FOR NO KEY UPDATE;
  PERFORM FROM contacts c WHERE c.id = ANY (ids) ORDER BY c.id FOR UPDATE;
  -- Conversations created before the second lock; the first ones are locked already.
  PERFORM FROM conversations v WHERE v.contact_id = ANY (ids) ORDER BY v.id FOR NO KEY UPDATE;
END $$;

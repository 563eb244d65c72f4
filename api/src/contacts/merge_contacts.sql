-- Merges two contacts. The caller holds both (gwk_lock_contacts). The result is opted out, in the account or in a
-- sandbox, if one of them was. If both were, the result is `by_phone` only if both were by phone. Resumptions in sandboxes end.
CREATE OR REPLACE FUNCTION gwk_merge_contacts(target_id uuid, source_id uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gwk_merge_conversations(k.id, g.id)
  FROM conversations g
  JOIN conversations k ON k.instance_id = g.instance_id AND k.contact_id = target_id
  WHERE g.contact_id = source_id;
  UPDATE conversations v SET contact_id = target_id WHERE v.contact_id = source_id;

  DELETE FROM opt_outs o WHERE o.contact_id IN (target_id, source_id) AND o.resumed;
  UPDATE opt_outs o SET by_phone = false FROM opt_outs p
  WHERE o.contact_id = target_id AND o.by_phone AND p.contact_id = source_id AND p.sandbox_id IS NULL AND NOT p.by_phone;
  UPDATE opt_outs o SET contact_id = target_id
  WHERE o.contact_id = source_id AND NOT EXISTS (
    SELECT FROM opt_outs p WHERE p.contact_id = target_id AND p.sandbox_id IS NOT DISTINCT FROM o.sandbox_id);
  DELETE FROM mass_sends s
  WHERE s.contact_id = source_id
    AND EXISTS (SELECT FROM mass_sends t WHERE t.fingerprint = s.fingerprint AND t.contact_id = target_id);
  UPDATE mass_sends s SET contact_id = target_id WHERE s.contact_id = source_id;
  UPDATE contact_names n SET contact_id = target_id WHERE n.contact_id = source_id;
  UPDATE contacts c SET name = COALESCE(c.name, g.name) FROM contacts g WHERE c.id = target_id AND g.id = source_id;
  DELETE FROM contacts c WHERE c.id = source_id;
END $$;

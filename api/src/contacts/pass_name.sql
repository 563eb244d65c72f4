-- Gives a name of one contact to another, with the unattempted messages to it (`phones`: its phone numbers, or its LID). The caller holds both
-- contacts. Messages that have left stay with the former contact. So does an opt-out of the person; an opt-out that was
-- recorded for this phone number goes with it.
CREATE OR REPLACE FUNCTION gwk_pass_name(
  account uuid, source_contact uuid, target_contact uuid, passed_name text, phones text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  source record;
BEGIN
  -- If a person with other digits got an exact name, the canonical one stays.
  IF passed_name = ANY (phones) THEN
    UPDATE contact_names n SET contact_id = target_contact WHERE n.account_id = account AND n.name = passed_name;
    UPDATE opt_outs o SET contact_id = target_contact
    WHERE o.contact_id = source_contact AND o.by_phone AND o.phone = ANY (phones)
      AND NOT EXISTS (SELECT FROM opt_outs p WHERE p.contact_id = target_contact AND p.sandbox_id IS NULL);
  END IF;
  FOR source IN SELECT v.id, v.instance_id FROM conversations v WHERE v.contact_id = source_contact LOOP
    PERFORM gwk_move_messages(source.id, source.instance_id, target_contact, phones);
  END LOOP;
  UPDATE conversations v SET lid = NULLIF(v.lid, passed_name), phone = CASE WHEN v.phone <> ALL (phones) THEN v.phone END,
    username = CASE WHEN v.lid IS DISTINCT FROM passed_name THEN v.username END
  WHERE v.contact_id = source_contact AND (v.phone = ANY (phones) OR v.lid = passed_name);
END $$;

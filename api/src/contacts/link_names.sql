-- Links two names of one contact. If both had a contact, the older one is kept. `opted_out`: the caller fails the
-- waiting messages of the merged contact.
CREATE OR REPLACE FUNCTION gwk_link_names(account uuid, name_a text, name_b text, new_contact uuid)
RETURNS TABLE (contact_id uuid, merged boolean, opted_out boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  a uuid;
  b uuid;
BEGIN
  merged := false;
  LOOP
    a := (SELECT n.contact_id FROM contact_names n WHERE n.account_id = account AND n.name = name_a);
    b := (SELECT n.contact_id FROM contact_names n WHERE n.account_id = account AND n.name = name_b);
    EXIT WHEN a = b;
    IF a IS NULL AND b IS NULL THEN
      a := gwk_lock_contact_by_name(account, name_a, new_contact);
      CONTINUE;
    END IF;
    PERFORM gwk_lock_contacts(ARRAY[a, b]);
    CONTINUE WHEN NOT EXISTS (SELECT FROM contacts c WHERE c.id = COALESCE(a, b));
    IF a IS NULL OR b IS NULL THEN
      INSERT INTO contact_names (account_id, name, contact_id)
      VALUES (account, CASE WHEN a IS NULL THEN name_a ELSE name_b END, COALESCE(a, b))
      ON CONFLICT DO NOTHING;
      CONTINUE;
    END IF;
    CONTINUE WHEN (SELECT count(*) FROM contact_names n
      WHERE n.account_id = account AND (n.name, n.contact_id) IN ((name_a, a), (name_b, b))) < 2;
    PERFORM gwk_merge_contacts(LEAST(a, b), GREATEST(a, b));
    merged := true;
  END LOOP;

  UPDATE opt_outs o SET phone = gwk_contact_name(a)
  WHERE o.contact_id = a AND o.phone IS NULL AND position('@' IN gwk_contact_name(a)) = 0;
  contact_id := a;
  opted_out := EXISTS (SELECT FROM opt_outs o WHERE o.contact_id = a);
  RETURN NEXT;
END $$;

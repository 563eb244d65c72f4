-- Gives a name of a contact a contact of its own, `new_contact`: undoes a wrong link. Its queued messages go with it.
-- Both contacts are opted out if it was, and the worker fails the messages of both that still wait. The other one gets the id `renewed_contact` (gwk_link_names says why).
-- Returns false if the name is unknown or the only one of its contact.
CREATE OR REPLACE FUNCTION gwk_split_contact(
  account uuid, split_name text, new_contact uuid, renewed_contact uuid, new_opt_out uuid
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  former uuid := gwk_lock_contact_by_name(account, split_name, NULL);
BEGIN
  IF former IS NULL OR (SELECT count(*) FROM contact_names n WHERE n.contact_id = former) < 2 THEN
    RETURN false;
  END IF;
  INSERT INTO contacts (id, account_id) VALUES (new_contact, account);
  INSERT INTO opt_outs (id, contact_id, account_id, phone, by_phone, source, keyword, instance_id, unfinished)
  SELECT new_opt_out, new_contact, o.account_id, o.phone, o.by_phone, o.source, o.keyword, o.instance_id, o.unfinished
  FROM opt_outs o WHERE o.contact_id = former AND o.sandbox_id IS NULL;
  PERFORM gwk_pass_name(account, former, new_contact, split_name, CASE WHEN position('@' IN split_name) > 0
    THEN ARRAY[split_name] ELSE string_to_array(gwk_phone_forms(split_name), ' ') END);
  PERFORM gwk_renew_contact(former, renewed_contact);
  RETURN true;
END $$;

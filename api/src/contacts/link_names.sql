-- Links a LID with a phone number, as the engine of an instance has seen them together. A contact has at most one LID,
-- and a phone number belongs to at most one contact.
--   Only one of them has a contact, or the phone number's contact has no LID: they become one contact.
--   The phone number belongs to another LID: it passes to this one, unless another instance's own engine has last seen
--   it with that LID. So one engine's word changes no contact that another engine knows better. An opt-out is the
--   exception: it stops all sends to the phone number, and the other instance keeps the ids of its events.
--   The canonical form belongs to another LID with other digits: two people, and each gets a name of its own.
-- Both cases end with a new id for the contact that lost a name, so that cached facts about it fail their check.
-- stated: the username of the LID, and when the network stated it ({username, at}); NULL: it did not.
-- `changed` and `opted_out`: the caller fails the waiting messages of the contact. `updates`: the ids of each contact that
-- have changed in the events of this instance (gwk_contact_ids), as {contact, previous}. After a merge, `previous` holds the
-- ids of the contact without a LID.
CREATE OR REPLACE FUNCTION gwk_link_names(
  account uuid, instance uuid, lid text, phone text, canonical text, new_contact uuid, renewed_contact uuid,
  stated jsonb
) RETURNS TABLE (contact_id uuid, changed boolean, opted_out boolean, updates jsonb) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  given_lid text := lid;
  given_phone text := phone;
  person uuid;
  owner uuid;
  owner_lid text;
  found_name text;
  registered text;
  -- Conversations in which another instance's own engine has last seen the phone number with the former LID.
  kept uuid[];
  -- The former ids of changed contacts, by LID; null: the instance has no conversation with them.
  former jsonb := '{}';
  former_ids jsonb;
BEGIN
  IF given_lid !~ '^[0-9]{5,20}@lid$' OR given_phone !~ '^[0-9]{8,15}$' THEN
    RAISE EXCEPTION 'only a LID and a phone number can be linked' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  changed := false;
  LOOP
    person := (SELECT n.contact_id FROM contact_names n WHERE n.account_id = account AND n.name = given_lid);
    found_name := gwk_find_name(account, canonical, given_phone);
    SELECT n.contact_id, n.phone INTO owner, registered
    FROM contact_names n WHERE n.account_id = account AND n.name = found_name;
    EXIT WHEN person = owner;
    IF person IS NULL AND owner IS NULL THEN
      PERFORM gwk_lock_contact_by_name(account, given_lid, new_contact);
      CONTINUE;
    END IF;
    PERFORM gwk_lock_contacts(ARRAY[person, owner]);
    -- Another transaction may have changed a name before the lock.
    CONTINUE WHEN found_name <> gwk_find_name(account, canonical, given_phone) OR (
      SELECT count(*) FROM contact_names n
      WHERE n.account_id = account AND (n.name, n.contact_id) IN ((given_lid, person), (found_name, owner))
    ) < (person IS NOT NULL)::integer + (owner IS NOT NULL)::integer;
    IF owner IS NULL THEN
      former := former || jsonb_build_object(given_lid, gwk_contact_ids(person, instance));
      INSERT INTO contact_names (account_id, name, contact_id) VALUES (account, found_name, person) ON CONFLICT DO NOTHING;
      CONTINUE;
    END IF;
    owner_lid := (SELECT n.name FROM contact_names n WHERE n.contact_id = owner AND position('@' IN n.name) > 0);
    former := former || CASE
      WHEN owner_lid IS NULL
        THEN jsonb_build_object(given_lid, COALESCE(gwk_contact_ids(owner, instance), gwk_contact_ids(person, instance)))
      WHEN person IS NOT NULL
        THEN jsonb_build_object(owner_lid, gwk_contact_ids(owner, instance), given_lid, gwk_contact_ids(person, instance))
      ELSE '{}' END;
    IF person IS NULL THEN
      IF owner_lid IS NULL THEN
        INSERT INTO contact_names (account_id, name, contact_id) VALUES (account, given_lid, owner) ON CONFLICT DO NOTHING;
      ELSE
        PERFORM gwk_lock_contact_by_name(account, given_lid, new_contact);
      END IF;
    ELSIF owner_lid IS NULL THEN
      PERFORM gwk_merge_contacts(LEAST(person, owner), GREATEST(person, owner));
      changed := true;
    ELSIF registered <> given_phone THEN
      INSERT INTO contact_names (account_id, name, contact_id, phone, linked_at)
      SELECT account, exact.digits, exact.contact_id, exact.digits, now()
      FROM (VALUES (registered, owner), (given_phone, person)) AS exact(digits, contact_id)
      WHERE exact.digits <> found_name
      ON CONFLICT DO NOTHING;
      PERFORM gwk_pass_name(account, owner, person, found_name, CASE WHEN found_name = given_phone
        THEN array_remove(string_to_array(gwk_phone_forms(found_name), ' '), registered) ELSE ARRAY[given_phone] END);
      PERFORM gwk_renew_contact(owner, renewed_contact);
      changed := true;
    ELSE
      kept := ARRAY(
        SELECT v.id FROM conversations v
        WHERE v.contact_id = owner AND v.instance_id <> instance AND v.lid = owner_lid AND v.phone = given_phone);
      EXIT WHEN kept <> '{}' AND (
        SELECT array_agg(DISTINCT o.contact_id) FROM opt_outs o
        WHERE o.contact_id IN (person, owner) AND o.sandbox_id IS NULL) IS DISTINCT FROM ARRAY[person];
      PERFORM gwk_pass_name(account, owner, person, found_name, string_to_array(gwk_phone_forms(given_phone), ' '));
      UPDATE conversations v SET lid = owner_lid, phone = given_phone WHERE v.id = ANY (kept);
      PERFORM gwk_renew_contact(owner, renewed_contact);
      changed := true;
    END IF;
  END LOOP;

  IF person = owner THEN
    UPDATE contact_names n SET phone = given_phone, linked_at = now()
    WHERE n.account_id = account AND n.name = found_name AND (n.phone IS DISTINCT FROM given_phone
      OR EXISTS (SELECT FROM contact_names o WHERE o.contact_id = person AND o.linked_at > n.linked_at));
    UPDATE opt_outs o SET phone = given_phone WHERE o.contact_id = person AND o.phone IS NULL;
  END IF;
  -- Another instance has linked the names before. Only the first of concurrent calls reports it.
  IF NOT former ? given_lid THEN
    PERFORM FROM conversations v
    WHERE v.instance_id = instance AND v.contact_id = person AND (v.lid, v.phone) IS DISTINCT FROM (given_lid, given_phone)
    FOR NO KEY UPDATE;
    IF FOUND THEN
      former := former || jsonb_build_object(given_lid, gwk_contact_ids(person, instance));
    END IF;
  END IF;
  PERFORM gwk_set_conversation_names(instance, person, given_lid, given_phone);
  IF stated IS NOT NULL THEN
    FOR former_ids IN SELECT u.previous FROM gwk_set_username(
      account, instance, given_lid, NULL, stated->>'username', (stated->>'at')::timestamptz) AS u LOOP
      former := jsonb_build_object(given_lid, former_ids) || former;
    END LOOP;
  END IF;
  contact_id := person;
  opted_out := EXISTS (SELECT FROM opt_outs o WHERE o.contact_id = person);
  updates := (
    SELECT jsonb_agg(jsonb_build_object('contact', a.ids, 'previous', f.value))
    FROM jsonb_each(former) AS f
    JOIN contact_names n ON n.account_id = account AND n.name = f.key
    CROSS JOIN LATERAL gwk_contact_ids(n.contact_id, instance) AS a(ids)
    WHERE jsonb_typeof(f.value) = 'object' AND a.ids <> f.value);
  RETURN NEXT;
END $$;

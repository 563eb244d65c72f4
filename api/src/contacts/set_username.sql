-- Stores the username of a contact for the events of one instance, and with `given_lid` for its LID in the whole account.
-- For a sandbox the caller passes `sandbox_contact`, because a consumer may write in the name of anybody there. Returns the
-- former ids in the events of the instance if they had another username; else no row. Only the first of concurrent calls with
-- one username returns a row. An older statement than the stored one changes nothing. `stated_at` NULL: the age is unknown; it
-- replaces only a username of unknown age.
CREATE OR REPLACE FUNCTION gwk_set_username(
  account uuid, instance uuid, given_lid text, sandbox_contact uuid, new_username text, stated_at timestamptz
) RETURNS TABLE (previous jsonb) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  person uuid := sandbox_contact;
  named uuid;
  conversation uuid;
  former jsonb;
BEGIN
  -- A time in the future would refuse all later statements.
  IF stated_at > now() THEN
    stated_at := now();
  END IF;
  LOOP
    IF given_lid IS NOT NULL THEN
      SELECT n.contact_id INTO person FROM contact_names n
      WHERE n.account_id = account AND n.name = given_lid
        AND (n.username IS NOT DISTINCT FROM new_username OR n.username_at IS NULL OR n.username_at <= stated_at);
    END IF;
    SELECT v.id, jsonb_build_object('lid', given_lid, 'phone', CASE WHEN v.lid = given_lid THEN v.phone END,
      'username', v.username) INTO conversation, former
    FROM conversations v
    WHERE v.instance_id = instance AND v.contact_id = person AND v.username IS DISTINCT FROM new_username
    FOR NO KEY UPDATE;
    EXIT WHEN given_lid IS NULL;
    -- In the order of all transactions: conversations before names.
    SELECT n.contact_id INTO named FROM contact_names n
    WHERE n.account_id = account AND n.name = given_lid
      AND (n.username IS NOT DISTINCT FROM new_username OR n.username_at IS NULL OR n.username_at <= stated_at)
    FOR NO KEY UPDATE;
    -- A merge or a newer statement may have come before the locks.
    EXIT WHEN named IS NOT DISTINCT FROM person;
  END LOOP;
  UPDATE conversations v SET username = new_username WHERE v.id = conversation;
  UPDATE contact_names n SET username = new_username, username_at = stated_at
  WHERE named IS NOT NULL AND n.account_id = account AND n.name = given_lid AND n.username IS DISTINCT FROM new_username;
  RETURN QUERY SELECT former WHERE former IS NOT NULL;
END $$;

-- LID, newest phone number and username of a contact; each may be null.
CREATE OR REPLACE FUNCTION gwk_contact_ids(contact uuid) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('lid', max(n.name) FILTER (WHERE position('@' IN n.name) > 0),
    'phone', substring(gwk_contact_name(contact) FROM '^[0-9]+$'), 'username', max(n.username))
  FROM contact_names n WHERE n.contact_id = contact
$$;

-- Shown name of a contact: its newest phone number if one is known, else the LID.
CREATE OR REPLACE FUNCTION gwk_contact_name(contact uuid) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT COALESCE(n.phone, n.name) FROM contact_names n WHERE n.contact_id = contact
  ORDER BY position('@' IN n.name) > 0, n.linked_at DESC NULLS LAST, n.name LIMIT 1
$$;

-- Canonical name of a contact: the phone number if known, else the LID.
CREATE OR REPLACE FUNCTION gwk_contact_name(contact uuid) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT n.name FROM contact_names n WHERE n.contact_id = contact
  ORDER BY position('@' IN n.name) > 0, n.name LIMIT 1
$$;

-- Name under which a phone number or LID is found: the exact digits if they are a name of their own (two people may
-- differ by a digit), else the canonical name.
CREATE OR REPLACE FUNCTION gwk_find_name(account uuid, canonical text, exact text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT COALESCE(
    (SELECT n.name FROM contact_names n WHERE n.account_id = account AND n.name = exact AND exact <> canonical), canonical)
$$;

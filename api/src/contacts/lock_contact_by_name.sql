-- Locks the contact of a name as gwk_lock_contacts does. Creates it as `new_contact` if it is missing; NULL: returns
-- NULL then.
CREATE OR REPLACE FUNCTION gwk_lock_contact_by_name(account uuid, contact_name text, new_contact uuid) RETURNS uuid
LANGUAGE plpgsql AS $$
DECLARE
  contact uuid;
BEGIN
  LOOP
    SELECT n.contact_id INTO contact FROM contact_names n WHERE n.account_id = account AND n.name = contact_name;
    IF NOT FOUND THEN
      IF new_contact IS NULL THEN
        RETURN NULL;
      END IF;
      WITH new_names AS (
        INSERT INTO contact_names (account_id, name, contact_id) VALUES (account, contact_name, new_contact)
        ON CONFLICT DO NOTHING RETURNING contact_id
      )
      INSERT INTO contacts (id, account_id) SELECT n.contact_id, account FROM new_names n;
      CONTINUE;
    END IF;
    PERFORM gwk_lock_contacts(ARRAY[contact]);
    IF EXISTS (
      SELECT FROM contact_names n WHERE n.account_id = account AND n.name = contact_name AND n.contact_id = contact
    ) THEN
      RETURN contact;
    END IF;
  END LOOP;
END $$;

-- Gives a contact another id. Cached facts that name the former id fail their check and are read again.
CREATE OR REPLACE FUNCTION gwk_renew_contact(former_id uuid, new_id uuid) RETURNS void LANGUAGE sql AS $$
  -- Names, conversations and opt-outs follow by their foreign keys.
  UPDATE contacts c SET id = new_id WHERE c.id = former_id;
  UPDATE mass_sends s SET contact_id = new_id WHERE s.contact_id = former_id
$$;

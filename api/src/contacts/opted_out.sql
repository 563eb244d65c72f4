-- Whether an instance refuses sends to a contact. A row of the account holds in all instances; a row of a sandbox holds
-- there only, and with `resumed` excepts that sandbox from the row of the account.
CREATE OR REPLACE FUNCTION gwk_opted_out(contact uuid, instance uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce(bool_and(NOT o.resumed), false) FROM opt_outs o
  WHERE o.contact_id = contact AND (o.sandbox_id IS NULL OR o.sandbox_id = instance)
$$;

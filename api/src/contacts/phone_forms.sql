-- Forms in which a phone number can be searched: with and without the digit that the network omits.
CREATE OR REPLACE FUNCTION gwk_phone_forms(phone text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT phone || ' ' || CASE
    WHEN phone ~ '^55[1-9][0-9]9[6-9][0-9]{7}$' THEN left(phone, 4) || substr(phone, 6)
    WHEN phone ~ '^55[1-9][0-9][6-9][0-9]{7}$' THEN left(phone, 4) || '9' || substr(phone, 5)
    WHEN phone ~ '^521[0-9]{10}$' THEN '52' || substr(phone, 4)
    WHEN phone ~ '^52[0-9]{10}$' THEN '521' || substr(phone, 3)
    WHEN phone ~ '^549[0-9]{10}$' THEN '54' || substr(phone, 4)
    WHEN phone ~ '^54[0-9]{10}$' THEN '549' || substr(phone, 3)
    ELSE '' END
$$;

-- Hours in which a menu accepts typed replies, from the highest level that sets them.
CREATE OR REPLACE FUNCTION gwk_menu_hours(instance_policy jsonb, account_policy jsonb, environment_hours integer)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(
    (instance_policy ->> 'menu_ttl_hours')::integer, (account_policy ->> 'menu_ttl_hours')::integer, environment_hours)
$$;

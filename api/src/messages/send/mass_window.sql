-- Minutes in which the mass block counts. The highest level with a `mass_block` sets the whole key.
CREATE OR REPLACE FUNCTION gwk_mass_window(instance_policy jsonb, account_policy jsonb, environment_minutes integer)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN jsonb_typeof(instance_policy -> 'mass_block') = 'object'
      THEN coalesce((instance_policy #>> '{mass_block,window_minutes}')::integer, 60)
    WHEN jsonb_typeof(account_policy -> 'mass_block') = 'object'
      THEN coalesce((account_policy #>> '{mass_block,window_minutes}')::integer, 60)
    ELSE environment_minutes
  END
$$;

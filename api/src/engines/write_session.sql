CREATE OR REPLACE FUNCTION gwk_write_session(
  instance uuid, epoch integer, holder uuid, number bigint, types text[], keys text[], sealed bytea[]
) RETURNS text
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
#variable_conflict use_column
DECLARE
  refusal text := (gwk_fence(ARRAY[instance], ARRAY[epoch], ARRAY[holder]))[1];
BEGIN
  IF refusal IS NOT NULL THEN
    RETURN refusal;
  END IF;
  -- A late write would restore session keys that were used already.
  IF NOT gwk_advance_call(instance, 'session-write', epoch, number) THEN
    RETURN NULL;
  END IF;
  DELETE FROM session_keys s
  USING unnest(types, keys, sealed) AS w(type, key, value)
  WHERE s.instance_id = instance AND s.type = w.type AND s.key = w.key AND w.value IS NULL;
  INSERT INTO session_keys (instance_id, type, key, value_sealed)
  SELECT instance, w.type, w.key, w.value FROM unnest(types, keys, sealed) AS w(type, key, value)
  WHERE w.value IS NOT NULL
  ON CONFLICT (instance_id, type, key) DO UPDATE SET value_sealed = EXCLUDED.value_sealed;
  RETURN NULL;
END $$;

-- Equality that an index by gwk_hash_high and gwk_hash_low can answer. The upper half has a range condition, because
-- Postgres drops a column with an equality from the sort order. Statements that are planned once order by it and forbid
-- sorts. Otherwise a plan made for few rows could read whole days.
CREATE OR REPLACE FUNCTION gwk_equals_by_hash(value text, wanted text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT gwk_hash_high(value) >= gwk_hash_high(wanted) AND gwk_hash_high(value) <= gwk_hash_high(wanted)
    AND gwk_hash_low(value) = gwk_hash_low(wanted) AND value = wanted
$$;

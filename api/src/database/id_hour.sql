-- Hour of an id, counted from 1970-01-01. Accepts any UUID version, as partitions do.
CREATE OR REPLACE FUNCTION gwk_id_hour(id uuid) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 3600000)::integer
$$;

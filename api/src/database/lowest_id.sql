-- Smallest id that a row created at that time can have.
CREATE OR REPLACE FUNCTION gwk_lowest_id(at timestamptz) RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
$$;

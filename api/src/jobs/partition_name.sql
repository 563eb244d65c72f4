-- Name of a table's partition for a day (UTC).
CREATE OR REPLACE FUNCTION gwk_partition_name(parent text, day date) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT format('%s_%s', parent, to_char(day, 'YYYYMMDD'))
$$;

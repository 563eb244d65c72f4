-- Daily partitions of a table that end at or before a day (UTC), oldest first.
CREATE OR REPLACE FUNCTION gwk_expired_partitions(parent text, before_day date) RETURNS SETOF text LANGUAGE sql STABLE AS $$
  -- Includes partitions that were moved to another schema. Text, because a regclass prints as a number once another
  -- worker has dropped its table.
  SELECT format('%I.%I', n.nspname, c.relname) FROM pg_inherits i
  JOIN pg_class c ON c.oid = i.inhrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE i.inhparent = parent::regclass AND c.relname ~ '_[0-9]{8}$'
    AND to_date(right(c.relname, 8), 'YYYYMMDD') < before_day
  ORDER BY c.relname
$$;

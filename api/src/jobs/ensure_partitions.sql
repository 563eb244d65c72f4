-- Creates the missing daily partitions of a table (UTC, both days included) and returns their number.
CREATE OR REPLACE FUNCTION gwk_ensure_partitions(parent text, first_day date, last_day date) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  day date := first_day;
  name text;
  created integer := 0;
BEGIN
  WHILE day <= last_day LOOP
    name := format('%s_%s', parent, to_char(day, 'YYYYMMDD'));
    -- Reads pg_inherits: a lookup by name can miss a partition that another worker has just created.
    IF NOT EXISTS (
      SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = parent::regclass AND c.relname = name) THEN
      -- Free space on each page of messages for updates in place (HOT). Events do not change.
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L) WITH (fillfactor = %s)', name, parent,
        gwk_lowest_id(day::timestamp AT TIME ZONE 'UTC'), gwk_lowest_id((day + 1)::timestamp AT TIME ZONE 'UTC'),
        CASE parent WHEN 'messages' THEN 80 ELSE 100 END);
      IF parent = 'messages' THEN
        PERFORM gwk_tune_autovacuum(name::regclass);
      END IF;
      created := created + 1;
    END IF;
    day := day + 1;
  END LOOP;
  RETURN created;
END $$;

-- Partitions until the first run of the worker.
SELECT gwk_ensure_partitions(parent, (now() AT TIME ZONE 'UTC')::date - 1, (now() AT TIME ZONE 'UTC')::date + 7)
FROM unnest(ARRAY['messages', 'events', 'webhook_deliveries']) AS parent;

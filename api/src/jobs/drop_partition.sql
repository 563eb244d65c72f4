-- Drops a partition if it is small, or if the last drop of a large one is `interval_ms` ago. The drop blocks readers and
-- writers of the parent. Returns the size that was dropped ('small', 'large'), 'missing' if there is no such partition,
-- or 'deferred'. Other callers wait for the caller's transaction. A done_at in the future, set by a wrong clock, is
-- ignored.
CREATE OR REPLACE FUNCTION gwk_drop_partition(name text, small_bytes bigint, interval_ms integer) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  small boolean;
BEGIN
  IF to_regclass(name) IS NULL THEN
    RETURN 'missing';
  END IF;
  small := pg_total_relation_size(name::regclass) < small_bytes;
  IF NOT small THEN
    INSERT INTO maintenance_tasks AS t (task, done_at) VALUES ('drop a partition', clock_timestamp())
    ON CONFLICT (task) DO UPDATE SET done_at = EXCLUDED.done_at
    WHERE t.done_at NOT BETWEEN clock_timestamp() - interval_ms * interval '1 millisecond' AND clock_timestamp();
    IF NOT FOUND THEN
      RETURN 'deferred';
    END IF;
  END IF;
  EXECUTE format('DROP TABLE %s', name::regclass);
  RETURN CASE WHEN small THEN 'small' ELSE 'large' END;
END $$;

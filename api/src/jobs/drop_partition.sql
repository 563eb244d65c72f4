-- Drops a partition if it is small or if the task is due. The drop blocks readers and writers of the parent. Returns
-- the size that was dropped ('small', 'large'), 'missing' if there is no such partition, or 'deferred'.
CREATE OR REPLACE FUNCTION gwk_drop_partition(name text, small_bytes bigint, interval_ms integer) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  small boolean;
BEGIN
  IF to_regclass(name) IS NULL THEN
    RETURN 'missing';
  END IF;
  small := pg_total_relation_size(name::regclass) < small_bytes;
  IF NOT small AND NOT gwk_start_task('drop a partition', interval_ms) THEN
    RETURN 'deferred';
  END IF;
  EXECUTE format('DROP TABLE %s', name::regclass);
  RETURN CASE WHEN small THEN 'small' ELSE 'large' END;
END $$;

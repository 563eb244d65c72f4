-- True if a maintenance task is due. The task counts as done when the caller's transaction commits; other callers wait
-- for that. A done_at in the future, set by a wrong clock, is ignored.
CREATE OR REPLACE FUNCTION gwk_start_task(name text, interval_ms integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE maintenance_tasks SET done_at = clock_timestamp()
  WHERE task = name
    AND done_at NOT BETWEEN clock_timestamp() - interval_ms * interval '1 millisecond' AND clock_timestamp();
  IF FOUND OR EXISTS (SELECT FROM maintenance_tasks WHERE task = name) THEN
    RETURN FOUND;
  END IF;
  -- The table was emptied.
  INSERT INTO maintenance_tasks (task, done_at) VALUES (name, clock_timestamp()) ON CONFLICT DO NOTHING;
  RETURN FOUND;
END $$;

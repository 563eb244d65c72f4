-- First position whose transaction may still run. All events below it are committed or will never exist.
CREATE OR REPLACE FUNCTION gwk_event_horizon() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + (SELECT shift FROM event_position_shift WHERE id = 1)
$$;

-- Reads the events of an account after a place, in the order of positions and ids, below the horizon. It
-- returns at most max_rows that match the filters (NULL: all), with at most max_bytes of data and one event more. With a
-- filter it looks at 5,000 events. Each row contains the next place; has_more: it is not the end. Without events: one row, whose id is NULL.
-- low: no later event has a lower id, so that older partitions are not opened.
CREATE OR REPLACE FUNCTION gwk_events_after(
  account uuid, after_position bigint, after_id uuid, low uuid, types text[], instances uuid[], max_rows integer,
  max_bytes integer)
RETURNS TABLE (
  id uuid, instance_id uuid, type text, "timestamp" timestamptz, "position" bigint, data_sealed bytea,
  next_position bigint, next_id uuid, has_more boolean)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
  horizon bigint := gwk_event_horizon();
  max_scanned integer := CASE WHEN types IS NULL AND instances IS NULL THEN max_rows + 1 ELSE 5000 END;
BEGIN
  RETURN QUERY
  WITH scanned AS MATERIALIZED (
    SELECT n.position AS place, n.id AS event, n.type AS kind, n.instance_id AS instance,
      octet_length(n.data_sealed) AS bytes
    FROM events n
    WHERE (n.account_id, n.position, n.id) > (account, after_position, after_id)
      AND (n.account_id, n.position) < (account, horizon) AND n.id >= low
    ORDER BY n.account_id, n.position, n.id LIMIT max_scanned
  ), matching AS (
    SELECT s.*, row_number() OVER o AS number, sum(s.bytes) OVER o - s.bytes AS bytes_before FROM scanned s
    WHERE (types IS NULL OR s.kind = ANY (types)) AND (instances IS NULL OR s.instance = ANY (instances))
    WINDOW o AS (ORDER BY s.place, s.event)
  ), shown AS (
    SELECT * FROM matching WHERE number <= max_rows AND bytes_before < max_bytes
  ), next AS (
    (SELECT 1 AS preference, s.place, s.event, true AS more FROM shown s
     WHERE (SELECT count(*) FROM shown) < (SELECT count(*) FROM matching) ORDER BY s.number DESC LIMIT 1)
    UNION ALL
    (SELECT 2, s.place, s.event, true FROM scanned s
     WHERE (SELECT count(*) FROM scanned) = max_scanned ORDER BY s.place DESC, s.event DESC LIMIT 1)
    UNION ALL
    SELECT 3, horizon, '00000000-0000-0000-0000-000000000000'::uuid, false
    ORDER BY preference LIMIT 1
  )
  SELECT e.id, e.instance_id, e.type, e.timestamp, e.position, e.data_sealed, x.place, x.event, x.more
  FROM next x LEFT JOIN (shown s JOIN events e ON e.id = s.event AND e.id >= low) ON true
  ORDER BY s.number;
END $$;

CREATE OR REPLACE FUNCTION gwk_events_of_instances(instances uuid[], type_filter text, low uuid, high uuid, max_rows integer)
RETURNS SETOF events LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT m.* FROM unnest(instances) AS owner(id)
  CROSS JOIN LATERAL (
    SELECT n.* FROM events n
    WHERE (n.instance_id, n.id) >= (owner.id, low) AND (n.instance_id, n.id) < (owner.id, high)
      AND n.id >= low AND n.id < high AND (type_filter IS NULL OR n.type = type_filter)
    ORDER BY n.instance_id DESC, n.id DESC LIMIT max_rows) AS m
  ORDER BY m.id DESC LIMIT max_rows;
END $$;

-- `instance_filter`: these instances, and deliveries without one; NULL: all. Failed deliveries have an index of their
-- own.
CREATE OR REPLACE FUNCTION gwk_deliveries_of_endpoint(
  endpoint uuid, status_filter text, instance_filter uuid[], low uuid, high uuid, max_rows integer
)
RETURNS SETOF webhook_deliveries LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  IF status_filter = 'failed' THEN
    RETURN QUERY
    SELECT n.* FROM webhook_deliveries n
    WHERE (n.endpoint_id, n.id) >= (endpoint, low) AND (n.endpoint_id, n.id) < (endpoint, high)
      AND n.id >= low AND n.id < high AND n.status = 'failed'
      AND (instance_filter IS NULL OR n.instance_id = ANY (instance_filter) OR n.instance_id IS NULL)
    ORDER BY n.endpoint_id DESC, n.id DESC LIMIT max_rows;
  ELSE
    RETURN QUERY
    SELECT n.* FROM webhook_deliveries n
    WHERE (n.endpoint_id, n.id) >= (endpoint, low) AND (n.endpoint_id, n.id) < (endpoint, high)
      AND n.id >= low AND n.id < high AND (status_filter IS NULL OR n.status = status_filter)
      AND (instance_filter IS NULL OR n.instance_id = ANY (instance_filter) OR n.instance_id IS NULL)
    ORDER BY n.endpoint_id DESC, n.id DESC LIMIT max_rows;
  END IF;
END $$;

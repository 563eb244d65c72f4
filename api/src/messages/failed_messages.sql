-- Failed messages are few and have an index of their own, by failed_at. `instance_filter`: NULL matches all.
CREATE OR REPLACE FUNCTION gwk_failed_messages(
  account uuid, instance_filter uuid[], type_filter text, low uuid, high uuid, max_rows integer
)
RETURNS SETOF messages LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT n.* FROM messages n
  WHERE (n.account_id, n.id) >= (account, low) AND (n.account_id, n.id) < (account, high)
    AND n.id >= low AND n.id < high AND n.failed_at IS NOT NULL AND n.status = 'failed'
    AND (instance_filter IS NULL OR n.instance_id = ANY (instance_filter))
    AND (type_filter IS NULL OR n.type = type_filter)
  ORDER BY n.account_id DESC, n.id DESC LIMIT max_rows;
END $$;

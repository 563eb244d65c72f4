-- One index lookup per owner. With all owners in one condition, Postgres reads messages by id until enough match: for
-- rare owners, all messages.
CREATE OR REPLACE FUNCTION gwk_messages_of_instances(
  instances uuid[], status_filter text, type_filter text, low uuid, high uuid, max_rows integer
)
RETURNS SETOF messages LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT m.* FROM unnest(instances) AS owner(id)
  CROSS JOIN LATERAL (
    SELECT n.* FROM messages n
    WHERE (n.instance_id, gwk_id_bucket_256ms(n.id)) >= (owner.id, gwk_id_bucket_256ms(low))
      AND (n.instance_id, gwk_id_bucket_256ms(n.id)) <= (owner.id, gwk_id_bucket_256ms(high))
      AND n.id >= low AND n.id < high AND (status_filter IS NULL OR n.status = status_filter)
      AND (type_filter IS NULL OR n.type = type_filter)
    ORDER BY n.instance_id DESC, gwk_id_bucket_256ms(n.id) DESC, n.id DESC LIMIT max_rows) AS m
  ORDER BY m.id DESC LIMIT max_rows;
END $$;

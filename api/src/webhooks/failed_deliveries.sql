-- Deliveries that a retry-failed selects after an id: failed, and created from `since` to `until` (both included).
-- `visible_instances`: only these instances and deliveries without one; NULL: all. An id can be later than its row's
-- created_at, which is the start of the transaction; hence the minute.
CREATE OR REPLACE FUNCTION gwk_failed_deliveries(
  endpoint uuid, after_id uuid, since timestamptz, until timestamptz, visible_instances uuid[]
) RETURNS SETOF webhook_deliveries LANGUAGE sql STABLE AS $$
  SELECT d.* FROM webhook_deliveries d
  WHERE d.endpoint_id = endpoint AND d.status = 'failed'
    AND d.id > after_id AND d.id < gwk_lowest_id(until + interval '1 minute') AND d.created_at BETWEEN since AND until
    AND (visible_instances IS NULL OR d.instance_id IS NULL OR d.instance_id = ANY (visible_instances))
$$;

-- Queues finished deliveries again and returns them. Pending ones are left alone.
--
-- A delivery is in webhook_queue if and only if it is `pending`. Both change in one transaction under the lock of the
-- delivery's row. A finished delivery is queued like a new one: no attempts, due now. A disabled endpoint gets one
-- attempt of a delivery that is due after it was disabled.
CREATE OR REPLACE FUNCTION gwk_requeue_deliveries(ids uuid[]) RETURNS SETOF uuid
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
BEGIN
  RETURN QUERY
  WITH ended AS MATERIALIZED (
    SELECT d.id, d.endpoint_id, d.event_id
    FROM unnest(ids) AS i(id) JOIN webhook_deliveries d ON d.id = i.id
    WHERE d.status <> 'pending'
    ORDER BY d.id FOR NO KEY UPDATE OF d
  ), queued AS (
    INSERT INTO webhook_queue (delivery_id, endpoint_id, event_id, due_at)
    SELECT e.id, e.endpoint_id, e.event_id, now() FROM ended e
  )
  UPDATE webhook_deliveries d SET status = 'pending', next_attempt_at = now(), delivered_at = NULL
  FROM ended e WHERE d.id = e.id
  RETURNING d.id;
END $$;

-- Fails a batch of queued deliveries of deleted or disabled endpoints. Deliveries in flight stay, and so do those
-- requested by hand after disabling.
CREATE OR REPLACE FUNCTION gwk_abandon_webhooks(max_deliveries integer) RETURNS integer
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_bitmapscan = off SET enable_material = off
AS $$
DECLARE
  abandoned integer;
BEGIN
  WITH entries AS MATERIALIZED (
    SELECT c.delivery_id, e.id IS NULL AS deleted
    FROM gwk_queued_endpoints() AS w
    LEFT JOIN webhook_endpoints e ON e.id = w.id
    CROSS JOIN LATERAL (
      SELECT q.delivery_id FROM webhook_queue q
      WHERE q.endpoint_id = w.id AND (q.locked_until IS NULL OR q.locked_until <= now())
        AND (e.id IS NULL OR q.attempts > 0 OR q.due_at <= e.disabled_at)
      LIMIT max_deliveries FOR UPDATE SKIP LOCKED
    ) AS c
    WHERE e.id IS NULL OR NOT e.enabled
    LIMIT max_deliveries
  ), removed AS (
    DELETE FROM webhook_queue q USING entries e WHERE q.delivery_id = e.delivery_id
  )
  UPDATE webhook_deliveries d
  SET status = 'failed', next_attempt_at = NULL,
    last_error = CASE WHEN e.deleted THEN 'the endpoint was deleted' ELSE 'the endpoint was disabled' END
  FROM entries e WHERE d.id = e.delivery_id;
  GET DIAGNOSTICS abandoned = ROW_COUNT;
  RETURN abandoned;
END $$;

-- Writes the results of a batch of calls. A result counts only while its entry has the lock of that call. Disabling an
-- endpoint writes an audit entry. Returns the disabled endpoints.
-- results: {delivery_id, lock, result, delay_ms, status_code, error, latency_ms, response (base64)}. result:
-- 'succeeded', 'failed', 'retry' after delay_ms, or 'returned' (not called; releases the lock).
-- endpoints: {id, healthy, disable, failing_since, error}. healthy: a call succeeded; NULL: there was none. disable: reason
-- to disable it; ignored if failing_since has changed, except for 'gone'. error: of the last failed attempt.
CREATE OR REPLACE FUNCTION gwk_record_webhook_results(results jsonb, endpoints jsonb, failure_gap_ms integer) RETURNS uuid[]
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
DECLARE
  changed uuid[];
  disabled uuid[];
BEGIN
  changed := ARRAY(
    SELECT e.id FROM jsonb_to_recordset(endpoints) AS d(id uuid, healthy boolean, disable text, error text)
    JOIN webhook_endpoints e ON e.id = d.id
    WHERE NOT d.healthy OR d.disable IS NOT NULL OR d.error IS NOT NULL OR e.failing_since IS NOT NULL);
  PERFORM FROM webhook_endpoints e WHERE e.id = ANY (changed) ORDER BY e.id FOR NO KEY UPDATE;

  UPDATE webhook_endpoints e SET failing_since = NULL, last_failed_at = NULL
  FROM jsonb_to_recordset(endpoints) AS d(id uuid, healthy boolean)
  WHERE e.id = d.id AND d.healthy AND e.failing_since IS NOT NULL;

  WITH newly_disabled AS (
    UPDATE webhook_endpoints e SET enabled = false, disabled_reason = d.disable, updated_at = now()
    FROM jsonb_to_recordset(endpoints) AS d(id uuid, disable text, failing_since timestamptz)
    WHERE e.id = d.id AND e.enabled AND d.disable IS NOT NULL
      AND (d.disable = 'gone' OR e.failing_since IS NOT DISTINCT FROM d.failing_since)
    RETURNING e.id, e.account_id, e.disabled_reason, e.failing_since
  ), audited AS (
    INSERT INTO audit_entries (id, account_id, actor, action, subject, detail)
    SELECT gwk_new_id(), g.account_id, 'gwk:worker', 'webhook.disable', g.id::text,
      jsonb_build_object('reason', g.disabled_reason, 'failing_since', g.failing_since)
    FROM newly_disabled g
  )
  SELECT array_agg(g.id) INTO disabled FROM newly_disabled g;

  -- Failures further apart than failure_gap_ms are separate failures. last_failed_at is updated at most once a minute.
  UPDATE webhook_endpoints e
  SET last_failed_at = now(),
    failing_since = CASE
      WHEN e.failing_since IS NULL OR e.last_failed_at < now() - failure_gap_ms * interval '1 millisecond'
      THEN now() ELSE e.failing_since END
  FROM jsonb_to_recordset(endpoints) AS d(id uuid, healthy boolean)
  WHERE e.id = d.id AND NOT d.healthy
    AND (e.failing_since IS NULL OR e.last_failed_at IS NULL OR e.last_failed_at < now() - interval '1 minute');

  -- A repeated error is written at most once a minute.
  UPDATE webhook_endpoints e SET last_error = d.error, last_error_at = now()
  FROM jsonb_to_recordset(endpoints) AS d(id uuid, error text)
  WHERE e.id = d.id AND d.error IS NOT NULL
    AND (e.last_error IS DISTINCT FROM d.error OR e.last_error_at < now() - interval '1 minute');

  WITH held AS MATERIALIZED (
    SELECT q.delivery_id, q.endpoint_id, r.delay_ms, r.status_code, r.error, r.latency_ms, r.response,
      CASE WHEN r.result = 'retry'
          AND NOT EXISTS (SELECT FROM webhook_endpoints e WHERE e.id = q.endpoint_id AND e.enabled)
        THEN 'failed' ELSE r.result END AS result
    FROM jsonb_to_recordset(results) AS r(
      delivery_id uuid, lock uuid, result text, delay_ms bigint, status_code integer, error text, latency_ms integer,
      response text)
    JOIN webhook_queue q ON q.delivery_id = r.delivery_id AND q.locked_by = r.lock
    ORDER BY q.delivery_id FOR UPDATE OF q
  ), finished AS (
    DELETE FROM webhook_queue q USING held h
    WHERE q.delivery_id = h.delivery_id AND h.result IN ('succeeded', 'failed')
  ), waiting AS (
    UPDATE webhook_queue q
    SET locked_by = NULL, locked_until = NULL,
      attempts = q.attempts + CASE h.result WHEN 'retry' THEN 1 ELSE 0 END,
      due_at = CASE h.result WHEN 'retry' THEN now() + h.delay_ms * interval '1 millisecond' ELSE q.due_at END
    FROM held h
    WHERE q.delivery_id = h.delivery_id AND h.result IN ('retry', 'returned')
  )
  UPDATE webhook_deliveries d
  SET status = CASE h.result WHEN 'retry' THEN 'pending' ELSE h.result END,
    attempts = d.attempts + 1,
    next_attempt_at = CASE h.result WHEN 'retry' THEN now() + h.delay_ms * interval '1 millisecond' END,
    delivered_at = CASE h.result WHEN 'succeeded' THEN now() ELSE d.delivered_at END,
    last_status_code = h.status_code, last_error = h.error, last_latency_ms = h.latency_ms,
    last_response_sealed = decode(h.response, 'base64')
  FROM held h
  WHERE d.id = h.delivery_id AND h.result <> 'returned';
  RETURN coalesce(disabled, '{}');
END $$;

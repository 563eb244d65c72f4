-- Deliveries that are retried on request.
--
-- A delivery is in webhook_queue if and only if it is `pending`. Both change in one transaction under the lock of the
-- delivery's row. A finished delivery is queued like a new one: no attempts, due now. A disabled endpoint gets one
-- attempt of a delivery that is due after it was disabled.

-- Rest of a large retry-failed for the worker: the deliveries after `after_id`.
CREATE TABLE "webhook_resends" (
    "id" UUID NOT NULL,
    "endpoint_id" UUID NOT NULL,
    "after_id" UUID NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,
    "restricted" BOOLEAN NOT NULL DEFAULT false,
    "instance_ids" UUID[],
    "touched_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_resends_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "webhook_resends_touched_at_idx" ON "webhook_resends"("touched_at");
ALTER TABLE "webhook_resends" ADD CONSTRAINT "webhook_resends_endpoint_id_fkey" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoints"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Deliveries that a retry-failed selects after an id: failed, and created from `since` to `until` (both included).
-- `visible_instances`: only these instances and deliveries without one; NULL: all. An id can be later than its row's
-- created_at, which is the start of the transaction; hence the minute.
CREATE FUNCTION gwk_failed_deliveries(
  endpoint uuid, after_id uuid, since timestamptz, until timestamptz, visible_instances uuid[]
) RETURNS SETOF webhook_deliveries LANGUAGE sql STABLE AS $$
  SELECT d.* FROM webhook_deliveries d
  WHERE d.endpoint_id = endpoint AND d.status = 'failed'
    AND d.id > after_id AND d.id < gwk_lowest_id(until + interval '1 minute') AND d.created_at BETWEEN since AND until
    AND (visible_instances IS NULL OR d.instance_id IS NULL OR d.instance_id = ANY (visible_instances))
$$;

-- Queues finished deliveries again and returns them. Pending ones are left alone.
CREATE FUNCTION gwk_requeue_deliveries(ids uuid[]) RETURNS SETOF uuid
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

-- One batch of a retry-failed. `last_id`: last delivery of the batch; NULL: none is left.
CREATE FUNCTION gwk_resend_failed(
  endpoint uuid, after_id uuid, since timestamptz, until timestamptz, visible_instances uuid[], max_deliveries integer
) RETURNS TABLE (resent integer, last_id uuid)
LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  batch uuid[];
BEGIN
  batch := ARRAY(SELECT f.id FROM gwk_failed_deliveries(endpoint, after_id, since, until, visible_instances) AS f
                 ORDER BY f.id LIMIT max_deliveries);
  resent := (SELECT count(*) FROM gwk_requeue_deliveries(batch));
  last_id := batch[cardinality(batch)];
  RETURN NEXT;
END $$;

-- Continues the retry-failed that has waited longest. Returns the number of queued deliveries; NULL: nothing to
-- continue.
CREATE FUNCTION gwk_continue_resend(max_deliveries integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  job webhook_resends;
  batch record;
BEGIN
  SELECT * INTO job FROM webhook_resends ORDER BY touched_at LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  SELECT * INTO batch FROM gwk_resend_failed(job.endpoint_id, job.after_id, job.since, job.until,
    CASE WHEN job.restricted THEN job.instance_ids END, max_deliveries);
  IF batch.last_id IS NULL THEN
    DELETE FROM webhook_resends WHERE id = job.id;
  ELSE
    UPDATE webhook_resends SET after_id = batch.last_id, touched_at = clock_timestamp() WHERE id = job.id;
  END IF;
  RETURN batch.resent;
END $$;

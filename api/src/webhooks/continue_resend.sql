-- Queues a batch of a retry-failed again: of the given one, or of the one that has waited longest (NULL). Returns the
-- number of queued deliveries; NULL: nothing to continue.
CREATE OR REPLACE FUNCTION gwk_continue_resend(resend uuid, max_deliveries integer) RETURNS integer
LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  job webhook_resends;
  batch uuid[];
BEGIN
  SELECT * INTO job FROM webhook_resends r WHERE resend IS NULL OR r.id = resend
  ORDER BY r.touched_at LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  batch := ARRAY(
    SELECT f.id FROM gwk_failed_deliveries(job.endpoint_id, job.after_id, job.since, job.until,
      CASE WHEN job.restricted THEN job.instance_ids END) AS f
    ORDER BY f.id LIMIT max_deliveries);
  IF cardinality(batch) < max_deliveries THEN
    DELETE FROM webhook_resends WHERE id = job.id;
  ELSE
    UPDATE webhook_resends SET after_id = batch[max_deliveries], touched_at = clock_timestamp() WHERE id = job.id;
  END IF;
  RETURN (SELECT count(*) FROM gwk_requeue_deliveries(batch));
END $$;

-- Continues the retry-failed that has waited longest. Returns the number of queued deliveries; NULL: nothing to
-- continue.
CREATE OR REPLACE FUNCTION gwk_continue_resend(max_deliveries integer) RETURNS integer
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

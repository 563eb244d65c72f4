-- One batch of a retry-failed. `last_id`: last delivery of the batch; NULL: none is left.
CREATE OR REPLACE FUNCTION gwk_resend_failed(
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

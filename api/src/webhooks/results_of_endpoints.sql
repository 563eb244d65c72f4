-- Results among the newest `max_rows` deliveries of each endpoint from `low` on. A delivery that waits for its next attempt
-- counts as tried.
CREATE OR REPLACE FUNCTION gwk_results_of_endpoints(endpoints uuid[], low uuid, max_rows integer)
RETURNS TABLE (id uuid, tried integer, succeeded integer) LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  FOREACH id IN ARRAY endpoints LOOP
    SELECT (count(*) FILTER (WHERE n.status <> 'pending' OR n.attempts > 0))::integer,
      (count(*) FILTER (WHERE n.status = 'succeeded'))::integer
    INTO tried, succeeded FROM (
      SELECT d.status, d.attempts FROM webhook_deliveries d
      WHERE d.endpoint_id = gwk_results_of_endpoints.id AND d.id >= low
      ORDER BY d.endpoint_id DESC, d.id DESC LIMIT max_rows) AS n;
    RETURN NEXT;
  END LOOP;
END $$;

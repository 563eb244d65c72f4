-- Finished webhook deliveries of the endpoints of an account by the hour of their ids, from `low` on.
CREATE OR REPLACE FUNCTION gwk_deliveries_by_hour(account uuid, low uuid)
RETURNS TABLE (hour integer, webhooks_succeeded integer, webhooks_failed integer)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
BEGIN
  RETURN QUERY
  SELECT gwk_id_hour(d.id), (count(*) FILTER (WHERE d.status = 'succeeded'))::integer,
    (count(*) FILTER (WHERE d.status = 'failed'))::integer
  FROM webhook_endpoints e JOIN webhook_deliveries d ON d.endpoint_id = e.id
  WHERE e.account_id = account AND d.id >= low
  GROUP BY 1;
END $$;

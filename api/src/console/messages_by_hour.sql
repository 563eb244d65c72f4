-- Messages of an account by the hour of their ids, from `low` on.
CREATE OR REPLACE FUNCTION gwk_messages_by_hour(account uuid, low uuid)
RETURNS TABLE (hour integer, sent integer, failed integer, received integer, delivered integer, read integer)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
BEGIN
  RETURN QUERY
  SELECT gwk_id_hour(m.id),
    (count(*) FILTER (WHERE m.direction = 'outbound' AND m.sent_at IS NOT NULL))::integer,
    (count(*) FILTER (WHERE m.direction = 'outbound' AND m.failed_at IS NOT NULL))::integer,
    (count(*) FILTER (WHERE m.direction = 'inbound'))::integer,
    (count(*) FILTER (WHERE m.direction = 'outbound' AND m.delivered_at IS NOT NULL))::integer,
    (count(*) FILTER (WHERE m.direction = 'outbound' AND m.read_at IS NOT NULL))::integer
  FROM messages m
  WHERE m.account_id = account AND gwk_id_bucket_256ms(m.id) >= gwk_id_bucket_256ms(low) AND m.id >= low
  GROUP BY 1;
END $$;

-- Deliveries of the events about a message, oldest first. The clock of Postgres, which dates deliveries, may be behind that
-- of the API, which dates messages.
CREATE OR REPLACE FUNCTION gwk_deliveries_of_message(message uuid, max_rows integer)
RETURNS SETOF webhook_deliveries LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
DECLARE
  low CONSTANT uuid := gwk_lowest_id(to_timestamp(gwk_id_hour(message) * 3600.0 - 86400));
BEGIN
  RETURN QUERY
  SELECT d.* FROM webhook_deliveries d
  WHERE gwk_id_bucket_256ms(d.message_id) = gwk_id_bucket_256ms(message) AND d.message_id = message AND d.id >= low
  ORDER BY d.id LIMIT max_rows;
END $$;

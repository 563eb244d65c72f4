-- Counts the messages and webhook deliveries with ids from `low` (included) to `high` (excluded) of all accounts by hour,
-- and replaces the counts of these hours. Returns the number of rows.
CREATE OR REPLACE FUNCTION gwk_count_traffic(low uuid, high uuid) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  counted integer;
BEGIN
  INSERT INTO account_traffic_hours
    (account_id, start, sent, failed, received, delivered, read, webhooks_succeeded, webhooks_failed)
  SELECT t.account_id, to_timestamp(t.hour * 3600.0), sum(t.sent), sum(t.failed), sum(t.received), sum(t.delivered),
    sum(t.read), sum(t.webhooks_succeeded), sum(t.webhooks_failed)
  FROM (
    SELECT m.account_id, gwk_id_hour(m.id) AS hour,
      count(*) FILTER (WHERE m.direction = 'outbound' AND m.sent_at IS NOT NULL) AS sent,
      count(*) FILTER (WHERE m.direction = 'outbound' AND m.failed_at IS NOT NULL) AS failed,
      count(*) FILTER (WHERE m.direction = 'inbound') AS received,
      count(*) FILTER (WHERE m.direction = 'outbound' AND m.delivered_at IS NOT NULL) AS delivered,
      count(*) FILTER (WHERE m.direction = 'outbound' AND m.read_at IS NOT NULL) AS read,
      0 AS webhooks_succeeded, 0 AS webhooks_failed
    FROM messages m WHERE m.id >= low AND m.id < high GROUP BY 1, 2
    UNION ALL
    SELECT d.account_id, gwk_id_hour(d.id), 0, 0, 0, 0, 0,
      count(*) FILTER (WHERE d.status = 'succeeded'), count(*) FILTER (WHERE d.status = 'failed')
    FROM webhook_deliveries d WHERE d.id >= low AND d.id < high GROUP BY 1, 2
  ) AS t JOIN accounts a ON a.id = t.account_id
  GROUP BY t.account_id, t.hour
  ON CONFLICT (account_id, start) DO UPDATE
  SET sent = excluded.sent, failed = excluded.failed, received = excluded.received, delivered = excluded.delivered,
    read = excluded.read, webhooks_succeeded = excluded.webhooks_succeeded, webhooks_failed = excluded.webhooks_failed;
  GET DIAGNOSTICS counted = ROW_COUNT;
  RETURN counted;
END $$;

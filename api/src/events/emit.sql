-- Writes events, and a pending delivery for every endpoint that subscribes to them. It runs in the transaction of the
-- change that the events report, so an event exists if and only if its change does. `by_default`: endpoints without
-- event types receive this type.
CREATE OR REPLACE FUNCTION gwk_emit(
  ids uuid[], account_ids uuid[], instance_ids uuid[], types text[], by_default boolean[],
  timestamps timestamptz[], data bytea[]
) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  deliveries integer;
BEGIN
  INSERT INTO events (id, account_id, instance_id, type, "timestamp", data_sealed)
  SELECT * FROM unnest(ids, account_ids, instance_ids, types, timestamps, data);

  WITH matching AS (
    SELECT gwk_new_id() AS delivery_id, d.id AS endpoint_id, d.account_id, e.event_id, e.instance_id, e.type
    FROM unnest(ids, account_ids, instance_ids, types, by_default)
      AS e(event_id, account_id, instance_id, type, is_default)
    JOIN webhook_endpoints d ON d.account_id = e.account_id AND d.enabled
    WHERE (e.type = ANY (d.event_types) OR (d.event_types = '{}' AND e.is_default))
      AND (e.instance_id IS NULL
        OR NOT EXISTS (SELECT FROM webhook_endpoint_instances r WHERE r.endpoint_id = d.id)
        OR EXISTS (SELECT FROM webhook_endpoint_instances r
                   WHERE r.endpoint_id = d.id AND r.instance_id = e.instance_id))
  ), logged AS (
    INSERT INTO webhook_deliveries
      (id, account_id, endpoint_id, event_id, instance_id, event_type, status, next_attempt_at, created_at)
    SELECT delivery_id, account_id, endpoint_id, event_id, instance_id, type, 'pending', now(), now() FROM matching
  )
  INSERT INTO webhook_queue (delivery_id, endpoint_id, event_id, due_at)
  SELECT delivery_id, endpoint_id, event_id, now() FROM matching;
  GET DIAGNOSTICS deliveries = ROW_COUNT;
  RETURN deliveries;
END $$;

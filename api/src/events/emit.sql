-- Writes events, and a pending delivery for every endpoint that subscribes to them. It runs in the transaction of the
-- change that the events report, so an event exists if and only if its change does.
-- items: {message_id, subject, conversation_id, id, account_id, instance_id, type, by_default, at, data (base64)}
-- (api/src/events/emit.ts). subject: the message that the event is about.
-- by_default: endpoints without event types receive this type.
-- changed: the messages whose events are written. Items without a message are always written.
CREATE OR REPLACE FUNCTION gwk_emit(items jsonb, changed uuid[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
BEGIN
  WITH emitted AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(items) AS e(
      message_id uuid, subject uuid, conversation_id uuid, id uuid, account_id uuid, instance_id uuid, type text, by_default boolean,
      at timestamptz, data text)
    WHERE e.message_id IS NULL OR e.message_id = ANY (changed)
  ), stored AS (
    INSERT INTO events (id, account_id, instance_id, type, "timestamp", data_sealed, conversation_id)
    SELECT id, account_id, instance_id, type, at, decode(data, 'base64'), conversation_id FROM emitted
  ), matching AS (
    SELECT gwk_new_id() AS delivery_id, d.id AS endpoint_id, d.account_id, e.id AS event_id, e.instance_id,
      e.subject, e.type
    FROM emitted e
    JOIN webhook_endpoints d ON d.account_id = e.account_id AND d.enabled
    WHERE (e.type = ANY (d.event_types) OR (d.event_types = '{}' AND e.by_default))
      AND (e.instance_id IS NULL
        OR NOT EXISTS (SELECT FROM webhook_endpoint_instances r WHERE r.endpoint_id = d.id)
        OR EXISTS (SELECT FROM webhook_endpoint_instances r
                   WHERE r.endpoint_id = d.id AND r.instance_id = e.instance_id))
  ), logged AS (
    INSERT INTO webhook_deliveries
      (id, account_id, endpoint_id, event_id, instance_id, message_id, event_type, status, next_attempt_at, created_at)
    SELECT delivery_id, account_id, endpoint_id, event_id, instance_id, subject, type, 'pending', now(), now()
    FROM matching
  )
  INSERT INTO webhook_queue (delivery_id, endpoint_id, event_id, due_at)
  SELECT delivery_id, endpoint_id, event_id, now() FROM matching;
END $$;

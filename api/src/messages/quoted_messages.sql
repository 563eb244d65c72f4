-- Data of quoted messages. `event_ids`: the event that reported a message from a contact or from the phone. The event of an
-- edit replaces it.
CREATE OR REPLACE FUNCTION gwk_quoted_messages(ids uuid[], event_ids uuid[]) RETURNS TABLE (
  id uuid, account_id uuid, instance_id uuid, direction text, wa_message_id text, participant text, type text,
  deleted boolean, conversation_id uuid, "to" text, group_id text, lid text, phone text, content_sealed bytea, event_sealed bytea,
  card_sealed bytea
)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
DECLARE
  id_range record := gwk_id_range(ids);
  lowest uuid := id_range.lowest;
  highest uuid := id_range.highest;
BEGIN
  RETURN QUERY
  SELECT m.id, m.account_id, m.instance_id, m.direction, m.wa_message_id, m.participant, m.type, m.deleted_for_all,
    m.conversation_id, m."to", v.group_id, v.lid, v.phone, k.content_sealed,
    CASE WHEN k.message_id IS NULL OR m.edit_event_id IS NOT NULL THEN (
      SELECT e.data_sealed FROM events e
      WHERE e.id = COALESCE(m.edit_event_id, requested.event_id) AND e.instance_id = m.instance_id) END,
    d.card_sealed
  FROM unnest(ids, event_ids) AS requested(id, event_id)
  JOIN messages m ON m.id = requested.id AND m.id = ANY (ids) AND m.id BETWEEN lowest AND highest
  JOIN conversations v ON v.id = m.conversation_id
  LEFT JOIN message_contents k ON k.message_id = m.id AND m.direction = 'outbound'
  LEFT JOIN message_cards d ON d.message_id = m.id AND NOT m.deleted_for_all;
END $$;

-- Facts for decisions about outbound messages. `number`: position in the array. Messages that are not found have no
-- row.
CREATE OR REPLACE FUNCTION gwk_message_facts(ids uuid[]) RETURNS TABLE (
  number integer, now timestamptz, message messages, group_id text, lid text, phone text, username text,
  claim_id uuid, claim_epoch integer, claim_holder uuid, attempted_at timestamptz
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
  SELECT requested.number::integer, clock_timestamp(), m, v.group_id, v.lid, v.phone, v.username,
    o.claim_id, o.claim_epoch, o.claim_holder, o.attempted_at::timestamptz
  FROM unnest(ids) WITH ORDINALITY AS requested(id, number)
  JOIN messages m ON m.id = requested.id AND m.id = ANY (ids) AND m.id BETWEEN lowest AND highest
    AND m.direction = 'outbound'
  JOIN conversations v ON v.id = m.conversation_id
  LEFT JOIN outbox o ON o.message_id = m.id;
END $$;

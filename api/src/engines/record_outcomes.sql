-- gwk_update_messages for engines. `place` names the caller of a change. Changes of fenced callers are left out; those
-- of a deleted instance are applied, because its messages have left. `held`: apply only while the caller's lease has
-- the message claimed. `waiting`: the instance has something to claim.
CREATE OR REPLACE FUNCTION gwk_record_outcomes(
  instance_ids uuid[], epochs integer[], holders uuid[], changes jsonb, events jsonb
) RETURNS TABLE (refusals text[], updated uuid[], waiting boolean[])
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
BEGIN
  refusals := gwk_fence(instance_ids, epochs, holders);
  SELECT COALESCE(jsonb_agg(c.change), '[]') INTO changes
  FROM jsonb_array_elements(changes) AS c(change)
  CROSS JOIN LATERAL jsonb_to_record(c.change) AS r(place integer, id uuid, held boolean)
  WHERE refusals[r.place] IS DISTINCT FROM 'fenced' AND (NOT r.held OR EXISTS (
    SELECT FROM outbox o
    WHERE o.message_id = r.id AND o.state = 'claimed' AND o.instance_id = instance_ids[r.place]
      AND o.claim_epoch = epochs[r.place] AND o.claim_holder = holders[r.place]));
  updated := gwk_update_messages(changes, events);
  waiting := ARRAY(
    SELECT EXISTS (
      SELECT FROM outbox o WHERE o.instance_id = i.id AND o.head AND o.prepared AND o.state = 'waiting')
    FROM unnest(instance_ids) WITH ORDINALITY AS i(id, place)
    ORDER BY i.place);
  RETURN NEXT;
END $$;

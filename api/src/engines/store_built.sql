-- Stores the encoded form of claimed messages before their first stanza; from then on they may have left. The form of
-- an earlier attempt stays and is returned as `existing`. One row for each item, in order; duplicates are stored once.
-- menus: {message_id, kind, mode, options (base64)} of messages that accept replies; a menu counts once it is sent.
-- `menu_hours`: default of the environment.
CREATE OR REPLACE FUNCTION gwk_store_built(
  instance_ids uuid[], epochs integer[], holders uuid[], message_ids uuid[], encoded bytea[], renderings text[],
  menus jsonb, menu_hours integer
) RETURNS TABLE (place integer, refusal text, held boolean, existing bytea)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
#variable_conflict use_column
DECLARE
  refusals text[] := gwk_fence(instance_ids, epochs, holders);
  claimed_ids uuid[];
  already_built uuid[];
BEGIN
  PERFORM gwk_lock_conversations(message_ids);

  WITH attempted AS (
    UPDATE outbox o SET attempted_at = COALESCE(o.attempted_at, now())
    FROM unnest(message_ids) WITH ORDINALITY AS b(message_id, place)
    WHERE o.message_id = b.message_id AND o.state = 'claimed' AND refusals[b.place] IS NULL
      AND o.instance_id = instance_ids[b.place]
      AND o.claim_epoch = epochs[b.place] AND o.claim_holder = holders[b.place]
      AND NOT EXISTS (SELECT FROM instances i WHERE i.id = o.instance_id AND o.created_at < i.other_account_at)
    RETURNING o.message_id
  )
  SELECT array_agg(a.message_id) INTO claimed_ids FROM attempted a;

  already_built := gwk_store_forms(claimed_ids, message_ids, encoded, renderings, menus, menu_hours);

  RETURN QUERY
  SELECT b.place::integer, refusals[b.place], COALESCE(b.message_id = ANY (claimed_ids), false),
    CASE WHEN b.message_id = ANY (already_built) OR b.repeated THEN (
      SELECT c.built_sealed FROM message_contents c WHERE c.message_id = b.message_id) END
  FROM (SELECT u.*, row_number() OVER (PARTITION BY u.message_id ORDER BY u.place) > 1 AS repeated
        FROM unnest(message_ids) WITH ORDINALITY AS u(message_id, place)) AS b
  ORDER BY b.place;
END $$;

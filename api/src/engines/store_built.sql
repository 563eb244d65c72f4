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
  lowest uuid;
  highest uuid;
BEGIN
  PERFORM gwk_lock_conversations(message_ids);

  WITH attempted AS (
    UPDATE outbox o SET attempted_at = COALESCE(o.attempted_at, now())
    FROM unnest(message_ids) WITH ORDINALITY AS b(message_id, place)
    WHERE o.message_id = b.message_id AND o.state = 'claimed' AND refusals[b.place] IS NULL
      AND o.instance_id = instance_ids[b.place]
      AND o.claim_epoch = epochs[b.place] AND o.claim_holder = holders[b.place]
    RETURNING o.message_id
  )
  SELECT array_agg(a.message_id) INTO claimed_ids FROM attempted a;

  already_built := ARRAY(
    SELECT c.message_id FROM message_contents c WHERE c.message_id = ANY (claimed_ids) AND c.built_sealed IS NOT NULL);
  UPDATE message_contents c SET built_sealed = b.built
  FROM (SELECT DISTINCT ON (u.message_id) u.message_id, u.built
        FROM unnest(message_ids, encoded) WITH ORDINALITY AS u(message_id, built, place)
        WHERE u.message_id = ANY (claimed_ids) AND u.message_id <> ALL (already_built)
        ORDER BY u.message_id, u.place) AS b
  WHERE c.message_id = b.message_id;
  IF EXISTS (SELECT FROM unnest(renderings) AS r(rendering) WHERE r.rendering IS NOT NULL) THEN
    SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(claimed_ids) AS s;
    UPDATE messages m SET rendered_as = b.rendering, version = m.version + 1, updated_at = now()
    FROM (SELECT u.message_id, u.rendering FROM unnest(message_ids, renderings) AS u(message_id, rendering)
          WHERE u.message_id = ANY (claimed_ids) AND u.message_id <> ALL (already_built) AND u.rendering IS NOT NULL) AS b
    WHERE m.id = b.message_id AND m.id = ANY (claimed_ids) AND m.id BETWEEN lowest AND highest
      AND m.rendered_as IS DISTINCT FROM b.rendering;
  END IF;
  IF jsonb_array_length(menus) > 0 THEN
    SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(claimed_ids) AS s;
    -- Kept while typed replies are accepted, plus 1 hour for an unconfirmed send. Polls are kept 90 days, because votes
    -- name options by hash.
    INSERT INTO menus (message_id, conversation_id, instance_id, wa_message_id, kind, mode, options_sealed, delete_at)
    SELECT m.id, m.conversation_id, m.instance_id, m.wa_message_id, n.kind, n.mode, decode(n.options, 'base64'),
      now() + interval '1 hour' + CASE WHEN n.kind = 'poll' THEN interval '90 days'
        ELSE make_interval(hours => coalesce(
          (i.policy ->> 'menu_ttl_hours')::integer, (a.policy ->> 'menu_ttl_hours')::integer, menu_hours)) END
    FROM jsonb_to_recordset(menus) AS n(message_id uuid, kind text, mode text, options text)
    JOIN messages m ON m.id = n.message_id AND m.id = ANY (claimed_ids) AND m.id BETWEEN lowest AND highest
    JOIN instances i ON i.id = m.instance_id
    JOIN accounts a ON a.id = m.account_id
    WHERE n.message_id = ANY (claimed_ids)
    ON CONFLICT (message_id) DO NOTHING;
  END IF;

  RETURN QUERY
  SELECT b.place::integer, refusals[b.place], COALESCE(b.message_id = ANY (claimed_ids), false),
    CASE WHEN b.message_id = ANY (already_built) OR b.repeated THEN (
      SELECT c.built_sealed FROM message_contents c WHERE c.message_id = b.message_id) END
  FROM (SELECT u.*, row_number() OVER (PARTITION BY u.message_id ORDER BY u.place) > 1 AS repeated
        FROM unnest(message_ids) WITH ORDINALITY AS u(message_id, place)) AS b
  ORDER BY b.place;
END $$;

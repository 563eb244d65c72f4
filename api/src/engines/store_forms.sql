-- Stores the encoded form of messages that the caller holds, with their renderings and menus (gwk_store_built). The caller
-- holds the locks of their conversations. The form of an earlier attempt stays. Returns the messages that had one.
CREATE OR REPLACE FUNCTION gwk_store_forms(
  held_ids uuid[], message_ids uuid[], encoded bytea[], renderings text[], menus jsonb, menu_hours integer
) RETURNS uuid[]
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
#variable_conflict use_column
DECLARE
  already_built uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  already_built := ARRAY(
    SELECT c.message_id FROM message_contents c WHERE c.message_id = ANY (held_ids) AND c.built_sealed IS NOT NULL);
  UPDATE message_contents c SET built_sealed = b.built
  FROM (SELECT DISTINCT ON (u.message_id) u.message_id, u.built
        FROM unnest(message_ids, encoded) WITH ORDINALITY AS u(message_id, built, place)
        WHERE u.message_id = ANY (held_ids) AND u.message_id <> ALL (already_built)
        ORDER BY u.message_id, u.place) AS b
  WHERE c.message_id = b.message_id;
  IF EXISTS (SELECT FROM unnest(renderings) AS r(rendering) WHERE r.rendering IS NOT NULL) THEN
    SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(held_ids) AS s;
    UPDATE messages m SET rendered_as = b.rendering, version = m.version + 1, updated_at = now()
    FROM (SELECT u.message_id, u.rendering FROM unnest(message_ids, renderings) AS u(message_id, rendering)
          WHERE u.message_id = ANY (held_ids) AND u.message_id <> ALL (already_built) AND u.rendering IS NOT NULL) AS b
    WHERE m.id = b.message_id AND m.id = ANY (held_ids) AND m.id BETWEEN lowest AND highest
      AND m.rendered_as IS DISTINCT FROM b.rendering;
  END IF;
  IF jsonb_array_length(menus) > 0 THEN
    SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(held_ids) AS s;
    -- Kept while typed replies are accepted, plus 1 hour for an unconfirmed send. Polls are kept 90 days, because votes
    -- name options by hash.
    INSERT INTO menus (message_id, conversation_id, instance_id, wa_message_id, kind, mode, options_sealed, delete_at)
    SELECT m.id, m.conversation_id, m.instance_id, m.wa_message_id, n.kind, n.mode, decode(n.options, 'base64'),
      now() + interval '1 hour' + CASE WHEN n.kind = 'poll' THEN interval '90 days'
        ELSE make_interval(hours => coalesce(
          (i.policy ->> 'menu_ttl_hours')::integer, (a.policy ->> 'menu_ttl_hours')::integer, menu_hours)) END
    FROM jsonb_to_recordset(menus) AS n(message_id uuid, kind text, mode text, options text)
    JOIN messages m ON m.id = n.message_id AND m.id = ANY (held_ids) AND m.id BETWEEN lowest AND highest
    JOIN instances i ON i.id = m.instance_id
    JOIN accounts a ON a.id = m.account_id
    WHERE n.message_id = ANY (held_ids)
    ON CONFLICT (message_id) DO NOTHING;
  END IF;
  RETURN already_built;
END $$;

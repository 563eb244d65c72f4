-- Stores the encoded form of messages, as gwk_store_built does, after it has claimed those with a claim id: the engine built
-- them from their notification. Only a waiting head that was never claimed is granted, with the timer of disappearing messages
-- that the engine has used. A refusal raises the version of the message, so that a late attempt of the same call claims
-- nothing: nobody would wait for it. A message that another claim granted meanwhile is stored only with the same timer. For a
-- message that this call claimed, a row contains the facts that decide its outcome (api/src/engines/message-cache.ts).
-- details: {menus, menu_hours, claims}; menus as in gwk_store_built, claims: {place, claim_id, timer_s, timer_set_at}.
CREATE OR REPLACE FUNCTION gwk_claim_built(
  instance_ids uuid[], epochs integer[], holders uuid[], message_ids uuid[], encoded bytea[], renderings text[], details jsonb
) RETURNS TABLE (
  place integer, refusal text, held boolean, existing bytea, message messages, group_id text, lid text, phone text,
  now timestamptz
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
#variable_conflict use_column
DECLARE
  refusals text[];
  claim_ids uuid[];
  timers_s integer[];
  timers_set_at timestamptz[];
  -- The messages to store; NULL for those built with another timer.
  granted_ids uuid[] := message_ids;
  claimed_ids uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  IF jsonb_array_length(details->'claims') > 0 THEN
    SELECT array_agg(c.claim_id ORDER BY p.place), array_agg(c.timer_s ORDER BY p.place),
      array_agg(c.timer_set_at ORDER BY p.place)
    INTO claim_ids, timers_s, timers_set_at
    FROM generate_series(1, cardinality(message_ids)) AS p(place)
    LEFT JOIN jsonb_to_recordset(details->'claims')
      AS c(place integer, claim_id uuid, timer_s integer, timer_set_at timestamptz) ON c.place = p.place;
    refusals := gwk_fence(instance_ids, epochs, holders);
    PERFORM gwk_lock_conversations(message_ids);
    SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(message_ids) AS s;
    WITH claimable AS (
      SELECT o.message_id, b.place
      FROM unnest(message_ids, claim_ids, timers_s, timers_set_at) WITH ORDINALITY
        AS b(message_id, claim_id, timer_s, timer_set_at, place)
      JOIN outbox o ON o.message_id = b.message_id
      JOIN messages m ON m.id = o.message_id AND m.id = ANY (message_ids) AND m.id BETWEEN lowest AND highest
      JOIN conversations v ON v.id = o.conversation_id
      JOIN instances i ON i.id = o.instance_id
      JOIN accounts a ON a.id = i.account_id
      WHERE b.claim_id IS NOT NULL AND refusals[b.place] IS NULL AND o.instance_id = instance_ids[b.place]
        AND o.head AND o.prepared AND o.state = 'waiting' AND o.attempted_at IS NULL
        AND m.status = 'queued' AND m.version = 1
        AND a.suspended_at IS NULL AND NOT gwk_opted_out(v.contact_id, o.instance_id)
        AND (v.group_id IS NOT NULL OR (v.timer_s, v.timer_set_at) IS NOT DISTINCT FROM (b.timer_s, b.timer_set_at))
    ), claimed AS (
      UPDATE outbox o
      SET state = 'claimed', claim_id = claim_ids[c.place], claim_epoch = epochs[c.place],
        claim_holder = holders[c.place], claimed_at = now()
      FROM claimable c WHERE o.message_id = c.message_id
      RETURNING o.message_id
    )
    SELECT array_agg(c.message_id) INTO claimed_ids FROM claimed c;
    UPDATE messages m
    SET status = CASE WHEN m.id = ANY (claimed_ids) THEN 'sending' ELSE m.status END, version = m.version + 1, updated_at = now()
    FROM unnest(message_ids, claim_ids) WITH ORDINALITY AS b(message_id, claim_id, place)
    WHERE m.id = b.message_id AND m.id = ANY (message_ids) AND m.id BETWEEN lowest AND highest
      AND b.claim_id IS NOT NULL AND refusals[b.place] IS NULL AND m.instance_id = instance_ids[b.place]
      AND m.status = 'queued' AND m.version = 1;
    granted_ids := ARRAY(
      SELECT CASE WHEN b.claim_id IS NOT NULL AND EXISTS (
          SELECT FROM outbox o JOIN conversations v ON v.id = o.conversation_id
          WHERE o.message_id = b.message_id AND o.attempted_at IS NULL AND v.group_id IS NULL
            AND (v.timer_s, v.timer_set_at) IS DISTINCT FROM (b.timer_s, b.timer_set_at))
        THEN NULL ELSE b.message_id END
      FROM unnest(message_ids, claim_ids, timers_s, timers_set_at) WITH ORDINALITY
        AS b(message_id, claim_id, timer_s, timer_set_at, place)
      ORDER BY b.place);
  END IF;

  -- The facts precede a rendering that gwk_store_built stores. The API does not cache those.
  RETURN QUERY
  SELECT s.place, s.refusal, s.held, s.existing, f.message, f.group_id, f.lid, f.phone, f.now
  FROM gwk_store_built(instance_ids, epochs, holders, granted_ids, encoded, renderings, details->'menus', (details->>'menu_hours')::integer) AS s
  LEFT JOIN LATERAL (
    SELECT m AS message, v.group_id, v.lid, v.phone, clock_timestamp() AS now
    FROM outbox o
    JOIN conversations v ON v.id = o.conversation_id
    JOIN messages m ON m.id = o.message_id AND m.id = ANY (claimed_ids) AND m.id BETWEEN lowest AND highest
    WHERE o.message_id = message_ids[s.place] AND o.message_id = ANY (claimed_ids)
  ) AS f ON true
  ORDER BY s.place;
END $$;

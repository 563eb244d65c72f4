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
  username text, now timestamptz
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
#variable_conflict use_column
DECLARE
  refusals text[];
  -- By place; NULL without a claim.
  claim_ids uuid[];
  timers_s integer[];
  timers_set_at timestamptz[];
  -- The messages that the caller holds now. Facts are NULL unless this call claimed the message.
  held_ids uuid[];
  facts messages[];
  group_ids text[];
  lids text[];
  phones text[];
  usernames text[];
  already_built uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  IF jsonb_array_length(details->'claims') = 0 THEN
    RETURN QUERY
    SELECT s.place, s.refusal, s.held, s.existing, NULL::messages, NULL::text, NULL::text, NULL::text, NULL::text,
      NULL::timestamptz
    FROM gwk_store_built(instance_ids, epochs, holders, message_ids, encoded, renderings, details->'menus',
      (details->>'menu_hours')::integer) AS s
    ORDER BY s.place;
    RETURN;
  END IF;

  SELECT array_agg(c.claim_id ORDER BY p.place), array_agg(c.timer_s ORDER BY p.place),
    array_agg(c.timer_set_at ORDER BY p.place)
  INTO claim_ids, timers_s, timers_set_at
  FROM generate_series(1, cardinality(message_ids)) AS p(place)
  LEFT JOIN jsonb_to_recordset(details->'claims')
    AS c(place integer, claim_id uuid, timer_s integer, timer_set_at timestamptz) ON c.place = p.place;
  refusals := gwk_fence(instance_ids, epochs, holders);
  PERFORM gwk_lock_conversations(message_ids);
  SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(message_ids) AS s;
  WITH asked AS (
    SELECT b.*, o.state = 'waiting' AS is_new, v.group_id, v.lid, v.phone, v.username, CASE o.state
      WHEN 'waiting' THEN b.claim_id IS NOT NULL AND o.head AND o.prepared AND o.attempted_at IS NULL
        AND m.status = 'queued' AND m.version = 1
        AND a.suspended_at IS NULL AND NOT gwk_opted_out(v.contact_id, o.instance_id)
        AND (v.group_id IS NOT NULL OR (v.timer_s, v.timer_set_at) IS NOT DISTINCT FROM (b.timer_s, b.timer_set_at))
      WHEN 'claimed' THEN o.claim_epoch = epochs[b.place] AND o.claim_holder = holders[b.place]
        AND (b.claim_id IS NULL OR o.attempted_at IS NOT NULL OR v.group_id IS NOT NULL
          OR (v.timer_s, v.timer_set_at) IS NOT DISTINCT FROM (b.timer_s, b.timer_set_at))
      END AS is_granted
    FROM unnest(message_ids, claim_ids, timers_s, timers_set_at) WITH ORDINALITY
      AS b(message_id, claim_id, timer_s, timer_set_at, place)
    JOIN outbox o ON o.message_id = b.message_id
    JOIN messages m ON m.id = o.message_id AND m.id = ANY (message_ids) AND m.id BETWEEN lowest AND highest
    JOIN conversations v ON v.id = o.conversation_id
    JOIN instances i ON i.id = o.instance_id
    JOIN accounts a ON a.id = i.account_id
    WHERE refusals[b.place] IS NULL AND o.instance_id = instance_ids[b.place]
      AND (i.other_account_at IS NULL OR o.created_at >= i.other_account_at)
  ), held AS (
    UPDATE outbox o
    SET state = 'claimed', attempted_at = coalesce(o.attempted_at, now()),
      claim_id = CASE WHEN r.is_new THEN r.claim_id ELSE o.claim_id END,
      claim_epoch = epochs[r.place], claim_holder = holders[r.place],
      claimed_at = CASE WHEN r.is_new THEN now() ELSE o.claimed_at END
    FROM asked r WHERE o.message_id = r.message_id AND r.is_granted
    RETURNING o.message_id, r.group_id, r.lid, r.phone, r.username
  ), advanced AS (
    UPDATE messages m
    SET status = CASE WHEN EXISTS (SELECT FROM held h WHERE h.message_id = m.id) THEN 'sending' ELSE m.status END,
      version = m.version + 1, updated_at = now()
    FROM asked r
    WHERE m.id = r.message_id AND m.id = ANY (message_ids) AND m.id BETWEEN lowest AND highest
      AND r.claim_id IS NOT NULL AND m.status = 'queued' AND m.version = 1
    RETURNING m.id, m AS facts
  )
  SELECT array_agg(h.message_id), array_agg(n.facts), array_agg(h.group_id), array_agg(h.lid), array_agg(h.phone),
    array_agg(h.username)
  INTO held_ids, facts, group_ids, lids, phones, usernames
  FROM held h LEFT JOIN advanced n ON n.id = h.message_id;
  already_built := gwk_store_forms(
    held_ids, message_ids, encoded, renderings, details->'menus', (details->>'menu_hours')::integer);

  -- The facts precede a rendering that gwk_store_forms stores. The API does not cache those.
  RETURN QUERY
  SELECT b.place::integer, refusals[b.place], b.held_place IS NOT NULL,
    CASE WHEN b.message_id = ANY (already_built) OR b.is_repeated THEN (
      SELECT c.built_sealed FROM message_contents c WHERE c.message_id = b.message_id) END,
    facts[b.held_place], group_ids[b.held_place], lids[b.held_place], phones[b.held_place],
    usernames[b.held_place], clock_timestamp()
  FROM (SELECT u.*, array_position(held_ids, u.message_id) AS held_place,
          row_number() OVER (PARTITION BY u.message_id ORDER BY u.place) > 1 AS is_repeated
        FROM unnest(message_ids) WITH ORDINALITY AS u(message_id, place)) AS b
  ORDER BY b.place;
END $$;

-- SQL of the internal API: leases, claims, outcomes and sessions. api/prisma/README.md has the lock order, and the
-- rules for plans and partitions.

-- Canonical name of a contact: the phone number if known, else the LID.
CREATE FUNCTION gwk_contact_name(contact uuid) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT n.name FROM contact_names n WHERE n.contact_id = contact
  ORDER BY position('@' IN n.name) > 0, n.name LIMIT 1
$$;

-- Lowest and highest of the ids; NULLs are ignored.
CREATE FUNCTION gwk_id_range(ids uuid[], OUT lowest uuid, OUT highest uuid) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  id uuid;
BEGIN
  FOREACH id IN ARRAY COALESCE(ids, '{}') LOOP
    -- LEAST and GREATEST ignore NULLs.
    lowest := LEAST(lowest, id);
    highest := GREATEST(highest, id);
  END LOOP;
END $$;

-- Locks the conversations of queued messages. A message that left the queue never returns, so under these locks the set
-- of queued messages is final.
CREATE FUNCTION gwk_lock_conversations(message_ids uuid[]) RETURNS void
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
DECLARE
  ids uuid[];
BEGIN
  LOOP
    ids := ARRAY(SELECT o.conversation_id FROM outbox o WHERE o.message_id = ANY (message_ids));
    PERFORM FROM conversations v WHERE v.id = ANY (ids) ORDER BY v.id FOR NO KEY UPDATE;
    -- A merge of contacts may have moved entries to another conversation meanwhile.
    EXIT WHEN NOT EXISTS (
      SELECT FROM outbox o WHERE o.message_id = ANY (message_ids) AND o.conversation_id <> ALL (ids));
  END LOOP;
END $$;

-- Makes the first waiting entry the head of each conversation that has none. The caller holds the locks of the
-- conversations.
CREATE FUNCTION gwk_promote_heads(conversations uuid[]) RETURNS void
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  UPDATE outbox o SET head = true, head_since = now()
  FROM unnest(conversations) AS c(id)
  CROSS JOIN LATERAL (
    SELECT e.message_id, e.head FROM outbox e
    WHERE e.conversation_id = c.id AND e.seq >> 4 IS NOT NULL
    ORDER BY e.seq >> 4, e.seq LIMIT 1
  ) AS next
  WHERE o.message_id = next.message_id AND NOT next.head;
END $$;

-- ------------------------------------------------------------------ leases

-- Checks epoch and holder of each caller. NULL: the caller holds the lease. 'fenced': it does not. 'gone': it does, but
-- the instance is deleted. The leases stay locked until the transaction ends, so nobody acquires them meanwhile.
CREATE FUNCTION gwk_fence(instance_ids uuid[], epochs integer[], holders uuid[]) RETURNS text[]
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
DECLARE
  refusals text[];
BEGIN
  WITH held AS MATERIALIZED (
    SELECT l.instance_id, l.epoch, l.holder FROM instance_leases l
    WHERE l.instance_id = ANY (instance_ids)
    ORDER BY l.instance_id FOR SHARE
  )
  SELECT array_agg(
    CASE
      WHEN (h.epoch, h.holder) IS DISTINCT FROM (r.epoch, r.holder) OR r.holder IS NULL THEN 'fenced'
      WHEN i.deleted_at IS NOT NULL THEN 'gone'
    END ORDER BY r.place)
  INTO refusals
  FROM unnest(instance_ids, epochs, holders) WITH ORDINALITY AS r(instance_id, epoch, holder, place)
  LEFT JOIN held h ON h.instance_id = r.instance_id
  LEFT JOIN instances i ON i.id = r.instance_id;
  RETURN refusals;
END $$;

-- Records the number of a call. False if this number or a higher one of the route is recorded, because a repeated call
-- keeps its number and the first attempt can arrive late (docs/decisions/0029-number-the-calls-of-engines.md). The
-- caller holds the lease. Concurrent calls of one route wait for each other here.
CREATE FUNCTION gwk_advance_call(instance uuid, name text, lease_epoch integer, call_number bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO engine_calls AS c (instance_id, route, epoch, number) VALUES (instance, name, lease_epoch, call_number)
  ON CONFLICT (instance_id, route) DO UPDATE SET epoch = excluded.epoch, number = excluded.number
  WHERE c.epoch <> excluded.epoch OR c.number < excluded.number;
  RETURN FOUND;
END $$;

-- Grants the next epoch to the pod of a token, unless another engine holds the lease. A holder that missed the answer
-- gets its epoch again. `now()` is earlier than any wait for the lock and later than the engine's request. The engine
-- counts from its request, so its lease ends there before it ends here.
CREATE FUNCTION gwk_acquire_lease(
  instance uuid, token uuid, pod_name text, engine_version text, new_holder uuid, lease_ms integer
) RETURNS TABLE (outcome text, new_epoch integer, retry_after_ms integer, unresponsive_since timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
  lease instance_leases;
  caller_token engine_tokens;
BEGIN
  SELECT * INTO lease FROM instance_leases l WHERE l.instance_id = instance FOR UPDATE;
  IF NOT FOUND OR EXISTS (SELECT FROM instances i WHERE i.id = instance AND i.deleted_at IS NOT NULL) THEN
    RETURN QUERY SELECT 'gone', NULL::integer, NULL::integer, NULL::timestamptz;
    RETURN;
  END IF;
  SELECT * INTO caller_token FROM engine_tokens t
  WHERE t.id = token AND t.instance_id = instance AND t.pod = pod_name AND t.revoked_at IS NULL;
  IF NOT FOUND OR EXISTS (
    SELECT FROM engine_tokens t
    WHERE t.id = lease.token_id AND (t.issued_at, t.id) > (caller_token.issued_at, caller_token.id)
  ) THEN
    RETURN QUERY SELECT 'unauthorized', NULL::integer, NULL::integer, NULL::timestamptz;
    RETURN;
  END IF;
  IF lease.holder = new_holder AND lease.token_id = token THEN
    UPDATE instance_leases l
    SET renewed_at = now(), expires_at = GREATEST(l.expires_at, now() + lease_ms * interval '1 millisecond')
    WHERE l.instance_id = instance;
    RETURN QUERY SELECT 'acquired', lease.epoch, NULL::integer, NULL::timestamptz;
    RETURN;
  END IF;
  IF lease.holder IS NOT NULL AND lease.expires_at > now() THEN
    RETURN QUERY
    SELECT 'lease-held', NULL::integer, ceil(extract(epoch FROM lease.expires_at - now()) * 1000)::integer,
      NULL::timestamptz;
    RETURN;
  END IF;
  UPDATE instance_leases l
  SET epoch = l.epoch + 1, holder = new_holder, token_id = token, pod = pod_name, version = engine_version,
    renewed_at = now(), expires_at = now() + lease_ms * interval '1 millisecond'
  WHERE l.instance_id = instance;
  UPDATE engine_tokens t SET revoked_at = now()
  WHERE t.instance_id = instance AND t.revoked_at IS NULL
    AND (t.issued_at, t.id) < (caller_token.issued_at, caller_token.id);
  RETURN QUERY SELECT 'acquired', lease.epoch + 1, NULL::integer, (
    SELECT CASE WHEN lease.holder IS NULL THEN lease.expires_at ELSE lease.renewed_at END
    FROM instances i WHERE i.id = instance AND i.state = 'connected');
END $$;

-- Renews many leases. An expired lease that nobody acquired can be renewed: its engine is the last one.
CREATE FUNCTION gwk_renew_leases(instance_ids uuid[], epochs integer[], holders uuid[], lease_ms integer)
RETURNS text[]
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
DECLARE
  refusals text[];
BEGIN
  PERFORM FROM instance_leases l WHERE l.instance_id = ANY (instance_ids) ORDER BY l.instance_id FOR NO KEY UPDATE;
  refusals := gwk_fence(instance_ids, epochs, holders);
  UPDATE instance_leases l
  SET renewed_at = now(), expires_at = GREATEST(l.expires_at, now() + lease_ms * interval '1 millisecond')
  FROM unnest(instance_ids, refusals) AS r(instance_id, refusal)
  WHERE l.instance_id = r.instance_id AND r.refusal IS NULL;
  RETURN refusals;
END $$;

-- ------------------------------------------------------------------ claims

-- Claims up to `limits` heads for each caller: first entries of an older epoch, then waiting ones by head_since. A
-- repeated claim id claims nothing and returns the entries that it still holds. A row without message_id carries the
-- refusal of its caller. A row with `opted_out` is not claimed; the API fails that message. The other columns contain
-- the facts that decide an outcome (api/src/engines/known-messages.ts).
CREATE FUNCTION gwk_claim_messages(
  instance_ids uuid[], epochs integer[], holders uuid[], numbers bigint[], repeated boolean[],
  claim_ids uuid[], limits integer[]
) RETURNS TABLE (
  place integer, refusal text, message_id uuid, opted_out boolean, conversation_id uuid, group_id text,
  contact_name text, wa_message_id text, type text, content_sealed bytea, built_sealed bytea, rendered_as text,
  attempted_at timestamptz, interactive_mode text, account_id uuid, version integer, status text,
  created_at timestamptz, scheduled_for timestamptz, now timestamptz
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
  refusals text[];
  candidates uuid[];
  places integer[];
  claimed_ids uuid[];
  released_ids uuid[];
  opted_out_ids uuid[];
  opted_out_places integer[];
  granted uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  -- An earlier attempt claims nothing once a repeat has run, because nobody waits for its answer. The repeat waits for
  -- claims of its instance in progress and returns what they took. Later arrivals find its number.
  PERFORM CASE WHEN k.exclusive THEN pg_advisory_xact_lock(k.key) ELSE pg_advisory_xact_lock_shared(k.key) END
  FROM (SELECT hashtextextended('gwk claims of ' || r.instance_id, 0) AS key, bool_or(r.is_repeated) AS exclusive
        FROM unnest(instance_ids, repeated) AS r(instance_id, is_repeated) GROUP BY 1 ORDER BY 1) AS k;
  refusals := gwk_fence(instance_ids, epochs, holders);
  IF true = ANY (repeated) THEN
    INSERT INTO engine_calls AS c (instance_id, route, epoch, number)
    SELECT DISTINCT ON (r.instance_id) r.instance_id, 'claims', r.epoch, r.number
    FROM unnest(instance_ids, epochs, numbers, repeated) WITH ORDINALITY
      AS r(instance_id, epoch, number, is_repeated, place)
    WHERE r.is_repeated AND refusals[r.place] IS NULL
    ORDER BY r.instance_id, r.number DESC
    ON CONFLICT (instance_id, route) DO UPDATE SET epoch = excluded.epoch, number = excluded.number
    WHERE c.epoch <> excluded.epoch OR c.number < excluded.number;
  END IF;
  SELECT array_agg(coalesce(refusals[r.place], CASE WHEN r.number < c.number THEN 'late' END) ORDER BY r.place)
  INTO refusals
  FROM unnest(instance_ids, epochs, numbers) WITH ORDINALITY AS r(instance_id, epoch, number, place)
  LEFT JOIN engine_calls c ON c.instance_id = r.instance_id AND c.route = 'claims' AND c.epoch = r.epoch;

  -- Without sorts, the plan reads waiting heads in the order of outbox_head_since_idx. OFFSET 0 makes it read claimed
  -- entries from outbox_claims_idx.
  SELECT array_agg(c.message_id), array_agg(r.place) INTO candidates, places
  FROM unnest(instance_ids, epochs, holders, claim_ids, limits) WITH ORDINALITY
    AS r(instance_id, epoch, holder, claim_id, max_messages, place)
  JOIN instances i ON i.id = r.instance_id
  JOIN accounts a ON a.id = i.account_id
  CROSS JOIN LATERAL (
    SELECT * FROM (
      (SELECT o.message_id, 0 AS rank, o.head_since FROM (
         SELECT * FROM outbox e WHERE e.instance_id = r.instance_id AND e.claim_id IS NOT NULL OFFSET 0
       ) AS o
       WHERE o.head AND o.prepared AND (o.claim_epoch, o.claim_holder) IS DISTINCT FROM (r.epoch, r.holder))
      UNION ALL
      (SELECT o.message_id, 1, o.head_since FROM outbox o
       WHERE o.instance_id = r.instance_id AND o.head AND o.prepared AND o.state = 'waiting'
         AND (a.suspended_at IS NULL OR o.attempted_at IS NOT NULL)
       ORDER BY o.head_since, o.message_id LIMIT r.max_messages)
    ) AS either
    ORDER BY either.rank, either.head_since, either.message_id LIMIT r.max_messages
  ) AS c
  WHERE refusals[r.place] IS NULL AND NOT EXISTS (
    SELECT FROM outbox o
    WHERE o.instance_id = r.instance_id AND o.claim_id = r.claim_id
      AND o.claim_epoch = r.epoch AND o.claim_holder = r.holder);

  IF candidates IS NOT NULL THEN
    PERFORM gwk_lock_conversations(candidates);
    SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(candidates) AS s;

    -- An attempted message may have left, so it is always granted and its outcome becomes known. An unattempted one of
    -- an older epoch returns to waiting if the account is suspended.
    WITH checked AS (
      SELECT o.message_id, c.place, o.state,
        o.attempted_at IS NULL AND a.suspended_at IS NOT NULL AS is_suspended,
        o.attempted_at IS NULL AND p.contact_id IS NOT NULL AS is_opted_out
      FROM unnest(candidates, places) AS c(message_id, place)
      JOIN outbox o ON o.message_id = c.message_id
      JOIN conversations v ON v.id = o.conversation_id
      JOIN instances i ON i.id = o.instance_id
      JOIN accounts a ON a.id = i.account_id
      LEFT JOIN opt_outs p ON p.contact_id = v.contact_id
      WHERE o.head AND o.prepared AND (
        o.state = 'waiting'
        OR (o.claim_epoch, o.claim_holder) IS DISTINCT FROM (epochs[c.place], holders[c.place]))
    ), newly_claimed AS (
      UPDATE outbox o
      SET state = 'claimed', claim_id = claim_ids[j.place], claim_epoch = epochs[j.place],
        claim_holder = holders[j.place], claimed_at = now()
      FROM checked j
      WHERE o.message_id = j.message_id AND NOT j.is_suspended AND NOT j.is_opted_out
      RETURNING o.message_id
    ), released AS (
      UPDATE outbox o
      SET state = 'waiting', claim_id = NULL, claim_epoch = NULL, claim_holder = NULL, claimed_at = NULL
      FROM checked j
      WHERE o.message_id = j.message_id AND j.is_suspended AND j.state = 'claimed'
      RETURNING o.message_id
    )
    SELECT (SELECT array_agg(t.message_id) FROM newly_claimed t), (SELECT array_agg(g.message_id) FROM released g),
      array_agg(j.message_id) FILTER (WHERE j.is_opted_out AND NOT j.is_suspended),
      array_agg(j.place) FILTER (WHERE j.is_opted_out AND NOT j.is_suspended)
    INTO claimed_ids, released_ids, opted_out_ids, opted_out_places
    FROM checked j;

    UPDATE messages m SET status = 'sending', version = m.version + 1, updated_at = now()
    WHERE m.id = ANY (claimed_ids) AND m.id BETWEEN lowest AND highest AND m.status = 'queued';
    IF released_ids IS NOT NULL THEN
      UPDATE messages m SET status = 'queued', version = m.version + 1, updated_at = now()
      WHERE m.id = ANY (released_ids) AND m.id BETWEEN lowest AND highest AND m.status = 'sending';
    END IF;
  END IF;

  RETURN QUERY
  SELECT r.place::integer, nullif(r.refusal, 'late'), NULL::uuid, false, NULL::uuid, NULL::text, NULL::text, NULL::text, NULL::text,
    NULL::bytea, NULL::bytea, NULL::text, NULL::timestamptz, NULL::text, NULL::uuid, NULL::integer, NULL::text,
    NULL::timestamptz, NULL::timestamptz, NULL::timestamptz
  FROM unnest(refusals) WITH ORDINALITY AS r(refusal, place);

  RETURN QUERY
  SELECT r.place, NULL::text, r.message_id, true, NULL::uuid, NULL::text, NULL::text, NULL::text, NULL::text,
    NULL::bytea, NULL::bytea, NULL::text, NULL::timestamptz, NULL::text, NULL::uuid, NULL::integer, NULL::text,
    NULL::timestamptz, NULL::timestamptz, NULL::timestamptz
  FROM unnest(opted_out_places, opted_out_ids) AS r(place, message_id);

  granted := ARRAY(
    SELECT o.message_id
    FROM unnest(instance_ids, epochs, holders, claim_ids) WITH ORDINALITY
      AS r(instance_id, epoch, holder, claim_id, place)
    CROSS JOIN LATERAL (
      SELECT * FROM outbox e WHERE e.instance_id = r.instance_id AND e.claim_id = r.claim_id OFFSET 0
    ) AS o
    WHERE refusals[r.place] IS NULL AND o.claim_epoch = r.epoch AND o.claim_holder = r.holder);
  IF granted = '{}' THEN
    RETURN;
  END IF;
  SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(granted) AS s;
  RETURN QUERY
  SELECT r.place::integer, NULL::text, o.message_id, false, o.conversation_id, v.group_id,
    gwk_contact_name(v.contact_id), m.wa_message_id, m.type, c.content_sealed, c.built_sealed, m.rendered_as,
    o.attempted_at::timestamptz, i.interactive_mode, m.account_id, m.version, m.status, m.created_at::timestamptz,
    m.scheduled_for::timestamptz, clock_timestamp()
  FROM unnest(instance_ids, epochs, holders, claim_ids) WITH ORDINALITY
    AS r(instance_id, epoch, holder, claim_id, place)
  JOIN instances i ON i.id = r.instance_id
  JOIN outbox o ON o.instance_id = r.instance_id AND o.claim_id = r.claim_id
    AND o.claim_epoch = r.epoch AND o.claim_holder = r.holder AND o.message_id = ANY (granted)
  JOIN conversations v ON v.id = o.conversation_id
  JOIN messages m ON m.id = o.message_id AND m.id = ANY (granted) AND m.id BETWEEN lowest AND highest
  LEFT JOIN message_contents c ON c.message_id = o.message_id
  WHERE refusals[r.place] IS NULL
  ORDER BY r.place, o.head_since, o.message_id;
END $$;

-- ------------------------------------------------------------------ built messages

-- Stores the encoded form of claimed messages before their first stanza; from then on they may have left. The form of
-- an earlier attempt stays and is returned as `existing`. One row for each item, in order; duplicates are stored once.
-- menus: {message_id, kind, mode, options (base64)} of messages that accept replies; a menu counts once it is sent.
-- `menu_hours`: default of the environment.
CREATE FUNCTION gwk_store_built(
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
        ELSE make_interval(hours => gwk_menu_hours(i.policy, a.policy, menu_hours)) END
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

-- ------------------------------------------------------------------ changes of messages

-- Facts for decisions about outbound messages. `number`: position in the array. Messages that are not found have no
-- row.
CREATE FUNCTION gwk_message_facts(ids uuid[]) RETURNS TABLE (
  number integer, now timestamptz, message_id uuid, account_id uuid, instance_id uuid, wa_message_id text,
  group_id text, contact_name text, version integer, created_at timestamptz, scheduled_for timestamptz, status text,
  error_code text, error_message text, rendered_as text, played boolean, sent_at timestamptz,
  delivered_at timestamptz, read_at timestamptz, failed_at timestamptz, claim_epoch integer, claim_holder uuid, claim_id uuid,
  attempted_at timestamptz
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
  SELECT requested.number::integer, clock_timestamp(), m.id, m.account_id, m.instance_id, m.wa_message_id, v.group_id,
    gwk_contact_name(v.contact_id), m.version, m.created_at::timestamptz, m.scheduled_for::timestamptz, m.status,
    m.error_code, m.error_message, m.rendered_as, m.played, m.sent_at::timestamptz, m.delivered_at::timestamptz,
    m.read_at::timestamptz, m.failed_at::timestamptz, o.claim_epoch, o.claim_holder, o.claim_id, o.attempted_at::timestamptz
  FROM unnest(ids) WITH ORDINALITY AS requested(id, number)
  JOIN messages m ON m.id = requested.id AND m.id = ANY (ids) AND m.id BETWEEN lowest AND highest
    AND m.direction = 'outbound'
  JOIN conversations v ON v.id = m.conversation_id
  LEFT JOIN outbox o ON o.message_id = m.id;
END $$;

-- Ids of messages that callers name by message id or by network id. NULL: not found, or the caller does not hold the
-- lease. Message ids are returned unchecked and may belong to another instance.
--
-- Network ids are searched in the last three days first, then in all days. A receipt rarely comes later, and a search
-- of all days opens every partition.
CREATE FUNCTION gwk_find_messages(
  instance_ids uuid[], epochs integer[], holders uuid[], message_ids uuid[], wa_message_ids text[]
) RETURNS uuid[]
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
DECLARE
  recent_from uuid := gwk_lowest_id(now() - interval '3 days');
  -- Excludes the partitions created a week ahead.
  recent_until uuid := gwk_lowest_id(now() + interval '1 day');
  network_ids text[];
  ids uuid[];
BEGIN
  -- Callers without the lease find nothing.
  SELECT array_agg(CASE WHEN q.leased THEN q.wa_message_id END ORDER BY q.number),
    array_agg(CASE WHEN q.leased THEN q.message_id END ORDER BY q.number)
  INTO network_ids, ids
  FROM (
    SELECT r.wa_message_id, r.message_id, r.number, (
      SELECT true FROM instance_leases l
      WHERE l.instance_id = r.instance_id AND l.epoch = r.epoch AND l.holder = r.holder) AS leased
    FROM unnest(instance_ids, epochs, holders, message_ids, wa_message_ids) WITH ORDINALITY
      AS r(instance_id, epoch, holder, message_id, wa_message_id, number)
    -- OFFSET 0 keeps the lease lookup in a subquery; inlined, it would run once for each use.
    OFFSET 0
  ) AS q;
  IF cardinality(array_remove(network_ids, NULL)) = 0 THEN
    RETURN ids;
  END IF;

  ids := ARRAY(
    SELECT COALESCE(q.id, (
      SELECT e.id FROM messages e
      WHERE gwk_equals_by_hash(e.wa_message_id, q.wa_message_id)
        AND e.instance_id = q.instance_id AND e.id >= recent_from AND e.id < recent_until AND e.direction = 'outbound'
      ORDER BY gwk_hash_high(e.wa_message_id) LIMIT 1))
    FROM unnest(ids, instance_ids, network_ids) WITH ORDINALITY AS q(id, instance_id, wa_message_id, number)
    ORDER BY q.number);
  IF EXISTS (SELECT FROM unnest(ids, network_ids) AS q(id, wa_message_id)
             WHERE q.id IS NULL AND q.wa_message_id IS NOT NULL) THEN
    ids := ARRAY(
      SELECT COALESCE(q.id, (
        SELECT e.id FROM messages e
        WHERE gwk_equals_by_hash(e.wa_message_id, q.wa_message_id)
          AND e.instance_id = q.instance_id AND e.id < recent_from AND e.direction = 'outbound'
        ORDER BY gwk_hash_high(e.wa_message_id) LIMIT 1))
      FROM unnest(ids, instance_ids, network_ids) WITH ORDINALITY AS q(id, instance_id, wa_message_id, number)
      ORDER BY q.number);
  END IF;
  RETURN ids;
END $$;

-- Applies changes with their events if the message still has the version that was decided on. The caller decides the
-- others again. Returns the updated messages.
-- changes: {message_id, version, status, sent_at, delivered_at, read_at, failed_at, error_code, error_message,
-- rendered_as, played, queue}.
-- queue: 'keep', 'finish' (remove the entry, promote the next one, delete the content after 24 h) or 'return' (back to
-- waiting at its position; never attempted if `queued` again).
-- events: {message_id, id, account_id, instance_id, type, by_default, at, data (base64)}.
CREATE FUNCTION gwk_update_messages(changes jsonb, events jsonb) RETURNS uuid[]
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
DECLARE
  ids uuid[] := ARRAY(SELECT c.message_id FROM jsonb_to_recordset(changes) AS c(message_id uuid));
  -- Most changes are receipts, which do not touch the queue: they skip its locks and lookups.
  queued uuid[] := ARRAY(
    SELECT c.message_id FROM jsonb_to_recordset(changes) AS c(message_id uuid, queue text) WHERE c.queue <> 'keep');
  updated uuid[];
  finished uuid[];
  headless uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(ids) AS s;
  IF queued <> '{}' THEN
    PERFORM gwk_lock_conversations(queued);
  END IF;

  updated := ARRAY(
    SELECT m.id FROM messages m
    JOIN jsonb_to_recordset(changes) AS c(message_id uuid, version integer) ON c.message_id = m.id
    WHERE m.version = c.version AND m.id = ANY (ids) AND m.id BETWEEN lowest AND highest
    ORDER BY m.id FOR NO KEY UPDATE OF m);

  UPDATE messages m
  SET status = c.status, sent_at = c.sent_at, delivered_at = c.delivered_at, read_at = c.read_at,
    failed_at = c.failed_at, error_code = c.error_code, error_message = c.error_message,
    rendered_as = c.rendered_as, played = c.played, version = m.version + 1, updated_at = now()
  FROM jsonb_to_recordset(changes) AS c(
    message_id uuid, status text, sent_at timestamptz, delivered_at timestamptz, read_at timestamptz,
    failed_at timestamptz, error_code text, error_message text, rendered_as text, played boolean)
  WHERE m.id = c.message_id AND m.id = ANY (updated) AND m.id BETWEEN lowest AND highest;

  IF queued <> '{}' THEN
    WITH removed AS (
      DELETE FROM outbox o
      USING jsonb_to_recordset(changes) AS c(message_id uuid, queue text)
      WHERE o.message_id = c.message_id AND c.queue = 'finish' AND c.message_id = ANY (updated)
      RETURNING o.conversation_id, o.head
    )
    SELECT array_agg(g.conversation_id) FILTER (WHERE g.head) INTO headless FROM removed g;
    PERFORM gwk_promote_heads(headless);

    IF changes @> '[{"queue": "return"}]' THEN
      UPDATE outbox o
      SET state = 'waiting', claim_id = NULL, claim_epoch = NULL, claim_holder = NULL, claimed_at = NULL,
        attempted_at = CASE WHEN c.status = 'queued' THEN NULL ELSE o.attempted_at END
      FROM jsonb_to_recordset(changes) AS c(message_id uuid, queue text, status text)
      WHERE o.message_id = c.message_id AND c.queue = 'return' AND c.message_id = ANY (updated);
    END IF;

    finished := ARRAY(
      SELECT c.message_id FROM jsonb_to_recordset(changes) AS c(message_id uuid, queue text)
      WHERE c.queue = 'finish' AND c.message_id = ANY (updated));
    UPDATE message_contents c SET delete_at = now() + interval '24 hours' WHERE c.message_id = ANY (finished);

    -- A menu counts once it is sent. The menu of a failed message is deleted, except after a timeout: that message may
    -- have left.
    IF EXISTS (SELECT FROM menus n WHERE n.message_id = ANY (finished)) THEN
      UPDATE menus n SET sent_at = m.sent_at FROM messages m
      WHERE n.message_id = ANY (finished) AND m.id = n.message_id AND m.id = ANY (finished)
        AND m.id BETWEEN lowest AND highest
        AND m.sent_at IS NOT NULL;
      DELETE FROM menus n USING messages m
      WHERE n.message_id = ANY (finished) AND m.id = n.message_id AND m.id = ANY (finished)
        AND m.id BETWEEN lowest AND highest
        AND m.status = 'failed' AND m.error_code <> 'timeout';
    END IF;
  END IF;

  PERFORM gwk_emit_items(events, updated);
  RETURN updated;
END $$;

-- gwk_update_messages for engines. `place` names the caller of a change. Changes of fenced callers are left out; those
-- of a deleted instance are applied, because its messages have left. `held`: apply only while the caller's lease has
-- the message claimed. `waiting`: the instance has something to claim.
CREATE FUNCTION gwk_record_outcomes(
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
  CROSS JOIN LATERAL jsonb_to_record(c.change) AS r(place integer, message_id uuid, held boolean)
  WHERE refusals[r.place] IS DISTINCT FROM 'fenced' AND (NOT r.held OR EXISTS (
    SELECT FROM outbox o
    WHERE o.message_id = r.message_id AND o.state = 'claimed' AND o.instance_id = instance_ids[r.place]
      AND o.claim_epoch = epochs[r.place] AND o.claim_holder = holders[r.place]));
  updated := gwk_update_messages(changes, events);
  waiting := ARRAY(
    SELECT EXISTS (
      SELECT FROM outbox o WHERE o.instance_id = i.id AND o.head AND o.prepared AND o.state = 'waiting')
    FROM unnest(instance_ids) WITH ORDINALITY AS i(id, place)
    ORDER BY i.place);
  RETURN NEXT;
END $$;

-- ------------------------------------------------------------------ session

CREATE FUNCTION gwk_write_session(
  instance uuid, epoch integer, holder uuid, number bigint, types text[], keys text[], sealed bytea[]
) RETURNS text
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
#variable_conflict use_column
DECLARE
  refusal text := (gwk_fence(ARRAY[instance], ARRAY[epoch], ARRAY[holder]))[1];
BEGIN
  IF refusal IS NOT NULL THEN
    RETURN refusal;
  END IF;
  -- A late write would restore session keys that were used already.
  IF NOT gwk_advance_call(instance, 'session-write', epoch, number) THEN
    RETURN NULL;
  END IF;
  DELETE FROM session_keys s
  USING unnest(types, keys, sealed) AS w(type, key, value)
  WHERE s.instance_id = instance AND s.type = w.type AND s.key = w.key AND w.value IS NULL;
  INSERT INTO session_keys (instance_id, type, key, value_sealed)
  SELECT instance, w.type, w.key, w.value FROM unnest(types, keys, sealed) AS w(type, key, value)
  WHERE w.value IS NOT NULL
  ON CONFLICT (instance_id, type, key) DO UPDATE SET value_sealed = EXCLUDED.value_sealed, updated_at = now();
  RETURN NULL;
END $$;

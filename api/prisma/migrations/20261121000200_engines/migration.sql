-- The SQL of the internal port: leases, claims, outcomes, what engines receive.
--
-- Locks are taken in one order by everything that touches the queue: claims of an instance (advisory), leases by
-- instance, numbers of calls, ledgers by instance, conversations by id, outbox, messages by id. An entry of the outbox
-- changes only under the lock of its conversation. None of these functions waits for a client while it holds a lock:
-- each is one statement.
--
-- Messages lie in partitions by day, and a statement opens each that its plan names before it knows which it needs:
-- 99 of them take a millisecond and more. So statements on the message path say between which ids theirs lie, in
-- variables: what lies outside is left closed. They name the ids too (`= ANY`): a span alone may hold all messages of a
-- day, and a plan made while there were few would read them one by one.
--
-- Plans of functions on the message path are fixed to index look-ups for each item: groups are small, tables are not,
-- and a plan made while a table was empty would be kept.

-- The name a contact is best known by: the phone where it is known, else the hidden id.
CREATE FUNCTION gwk_contact_name(contact uuid) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT n.name FROM contact_names n WHERE n.contact_id = contact
  ORDER BY position('@' IN n.name) > 0, n.name LIMIT 1
$$;

-- Between which ids these lie; nulls do not count.
CREATE FUNCTION gwk_id_range(ids uuid[], OUT lowest uuid, OUT highest uuid) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  id uuid;
BEGIN
  FOREACH id IN ARRAY COALESCE(ids, '{}') LOOP
    -- Neither counts a null.
    lowest := LEAST(lowest, id);
    highest := GREATEST(highest, id);
  END LOOP;
END $$;

-- Locks the conversations in which messages wait. A message that has left the queue never comes back to it, so whoever
-- has the lock knows which of them still wait.
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
    -- Two contacts found to be one may have moved entries to another conversation meanwhile.
    EXIT WHEN NOT EXISTS (
      SELECT FROM outbox o WHERE o.message_id = ANY (message_ids) AND o.conversation_id <> ALL (ids));
  END LOOP;
END $$;

-- Gives the head of the queue to the first waiting entry of each conversation that has none. The caller holds the
-- locks of the conversations.
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

-- The epoch rule. One verdict for each caller: null (the lease is theirs), 'fenced', or 'gone' (theirs, of a
-- deleted instance). The leases stay locked until the end of the transaction: nobody acquires in between.
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

-- Whether a call is newer than the last of its route: engines number theirs under each lease, a repeated one keeps its
-- number, and the first may come through after what followed. Whoever asks holds the lease until the end of the
-- transaction, and from here on the place of its route: those at once come one after the other.
CREATE FUNCTION gwk_advance_call(instance uuid, name text, lease_epoch integer, call_number bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO engine_calls AS c (instance_id, route, epoch, number) VALUES (instance, name, lease_epoch, call_number)
  ON CONFLICT (instance_id, route) DO UPDATE SET epoch = excluded.epoch, number = excluded.number
  WHERE c.epoch <> excluded.epoch OR c.number < excluded.number;
  RETURN FOUND;
END $$;

-- The next epoch for the pod of a token, unless another engine holds the lease; the holder itself, who has not heard
-- that it holds it, is told again. Times are the server's: `now()` is before any wait for the lock, and after the
-- engine sent its request, from which it counts: a lease ends for its engine before it ends here.
CREATE FUNCTION gwk_acquire_lease(
  instance uuid, token uuid, pod_name text, engine_version text, new_holder uuid, lease_ms integer
) RETURNS TABLE (outcome text, new_epoch integer, retry_after_ms integer, unresponsive_since timestamptz) LANGUAGE plpgsql AS $$
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
    SELECT FROM engine_tokens t WHERE t.id = lease.token_id AND (t.issued_at, t.id) > (caller_token.issued_at, caller_token.id)
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
  WHERE t.instance_id = instance AND t.revoked_at IS NULL AND (t.issued_at, t.id) < (caller_token.issued_at, caller_token.id);
  RETURN QUERY SELECT 'acquired', lease.epoch + 1, NULL::integer, (
    SELECT CASE WHEN lease.holder IS NULL THEN lease.expires_at ELSE lease.renewed_at END
    FROM instances i WHERE i.id = instance AND i.state = 'connected');
END $$;

-- Renews many leases. A lease that ended and that nobody took may still be renewed: its engine is the last one.
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

-- Takes up to `limits` heads for each caller: first what an older epoch still holds, then what waits, in turns.
-- The same claim id again takes nothing and returns what is still held under it.
--
-- What the outcome is decided on comes along (api/src/engines/known-messages.ts).
--
-- A row without message carries the verdict of its caller. `opted_out`: not claimed; the caller fails it.
-- However many conversations wait, those whose turn it is are read from the index of turns in its order (hence no
-- sorts), and what is claimed from the index of claims alone (hence OFFSET 0).
--
-- What was attempted may have left: it is granted whatever has happened since, so that its doubt can end. What an
-- older epoch held of a suspended account and never attempted goes back to waiting.
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
  -- An attempt that had no answer takes nothing once it has been repeated: nobody waits for what it would get. A repeat
  -- waits for the claims of its instance that are under way, and for nothing else, so that it answers with what they took
  -- (under the same claim id); those that come after it find its number.
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

-- ------------------------------------------------------------------ built

-- Keeps the encoded form of messages that their callers hold, before their first stanza; from here on they may have
-- left. What an earlier attempt kept stays: it comes back as `kept`, for the caller to compare. One row for each item,
-- in order; a message that is named twice is kept once.
--
-- menus: {message_id, kind, mode, options (base64)} of those that accept replies, which count once they have left.
-- They are kept as long as a typed reply may come (polls 90 days, because votes name their options by hash), and the
-- hour more that a message may be in doubt. `menu_hours`: where neither account nor instance have a say.
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

-- What decisions about outbound messages are made on. `number`: place in the array; there is no row for what is not
-- found.
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
  JOIN messages m ON m.id = requested.id AND m.id = ANY (ids) AND m.id BETWEEN lowest AND highest AND m.direction = 'outbound'
  JOIN conversations v ON v.id = m.conversation_id
  LEFT JOIN outbox o ON o.message_id = m.id;
END $$;

-- The ids of the messages that callers name, by our id or by the network's; null where there is none, and for a caller
-- whose lease is not the present one. What is named by our id is not looked at: it may be another instance's.
--
-- Network ids are looked for among the messages of the last three days, then the others among all: a receipt rarely comes
-- later, and a look at all begins with a look at each partition.
CREATE FUNCTION gwk_find_messages(
  instance_ids uuid[], epochs integer[], holders uuid[], message_ids uuid[], wa_message_ids text[]
) RETURNS uuid[]
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
DECLARE
  recent_from uuid := gwk_lowest_id(now() - interval '3 days');
  -- Partitions are made a week ahead.
  recent_until uuid := gwk_lowest_id(now() + interval '1 day');
  network_ids text[];
  ids uuid[];
BEGIN
  -- Whose lease is not the present one has nothing to ask.
  SELECT array_agg(CASE WHEN q.leased THEN q.wa_message_id END ORDER BY q.number),
    array_agg(CASE WHEN q.leased THEN q.message_id END ORDER BY q.number)
  INTO network_ids, ids
  FROM (
    SELECT r.wa_message_id, r.message_id, r.number, (
      SELECT true FROM instance_leases l
      WHERE l.instance_id = r.instance_id AND l.epoch = r.epoch AND l.holder = r.holder) AS leased
    FROM unnest(instance_ids, epochs, holders, message_ids, wa_message_ids) WITH ORDINALITY
      AS r(instance_id, epoch, holder, message_id, wa_message_id, number)
    -- Looked up once for each: taken into the query around it, it would be for each use.
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

-- Applies changes that were decided on what a message was (its version) and writes their events, each change with
-- its events or not at all: one whose message has changed since is left out, and decided again by the caller.
--
-- changes: {message_id, version, status, sent_at, delivered_at, read_at, failed_at, error_code, error_message,
--   rendered_as, played, queue}. queue: 'keep', 'finish' (the entry goes, the next of its conversation becomes the
--   head, the content may be deleted a day later) or 'return' (back to waiting, at its place; one that is
--   `queued` again was never attempted).
-- events: {message_id, id, account_id, instance_id, type, by_default, at, data (base64)}.
-- Returns the messages whose change was made.
CREATE FUNCTION gwk_update_messages(changes jsonb, events jsonb) RETURNS uuid[]
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
DECLARE
  ids uuid[] := ARRAY(SELECT c.message_id FROM jsonb_to_recordset(changes) AS c(message_id uuid));
  -- Most changes are receipts, which leave the queue as it is: those lock and look up nothing of it.
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

    -- A menu counts once it has left. One that did not leave is nobody's, unless it may still turn out to have left.
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

-- The same for engines: changes name their caller by `place`, and those of fenced callers are left out. `held`: only
-- while the caller's lease has the message claimed. Outcomes of a deleted instance are still taken: they tell what
-- has left. Returns the verdicts, the messages whose change was made, and whether each caller's instance has something
-- to claim afterwards.
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
  -- A session that was put back to what it was would use keys again that have been used.
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

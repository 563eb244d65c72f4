-- Claims up to `limits` messages for each caller: first heads of an older epoch, then waiting heads by head_since, then, if
-- wanted, followers: the next unattempted messages behind the unattempted of these heads, without a gap, at most 8 messages
-- of a conversation. Followers that another lease holds behind an attempted head return to the queue. A repeated claim id
-- claims nothing and returns the entries that it still holds. A row without message_id carries the refusal of its caller. A
-- row with `opted_out` is not claimed; the API fails that message. The other columns contain the facts that decide an
-- outcome (api/src/engines/message-cache.ts).
CREATE OR REPLACE FUNCTION gwk_claim_messages(
  instance_ids uuid[], epochs integer[], holders uuid[], numbers bigint[], repeated boolean[],
  claim_ids uuid[], limits integer[], with_followers boolean[]
) RETURNS TABLE (
  place integer, refusal text, message_id uuid, opted_out boolean, message messages, group_id text, lid text, phone text,
  username text, timer_s integer, timer_set_at timestamptz, content_sealed bytea, built_sealed bytea, attempted_at timestamptz,
  interactive_mode text, now timestamptz
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
  claimed_places integer[];
  free integer[];
  follower_ids uuid[];
  released_ids uuid[];
  opted_out_ids uuid[];
  opted_out_places integer[];
  granted uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  -- A claim needs no disk of its own: what was built commits after it, with a wait, before the first stanza leaves. If
  -- Postgres loses the claim, it refuses what was built, and the message is claimed again. A repeat of an attempted message
  -- does not wait; it leaves under the same id, also after another claim.
  PERFORM set_config('synchronous_commit', 'off', true);
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
       WHERE o.head AND o.prepared AND (o.claim_epoch, o.claim_holder) IS DISTINCT FROM (r.epoch, r.holder)
         AND (i.other_account_at IS NULL OR o.created_at >= i.other_account_at))
      UNION ALL
      (SELECT o.message_id, 1, o.head_since FROM outbox o
       WHERE o.instance_id = r.instance_id AND o.head AND o.prepared AND o.state = 'waiting'
         AND (a.suspended_at IS NULL OR o.attempted_at IS NOT NULL)
         AND (i.other_account_at IS NULL OR o.created_at >= i.other_account_at)
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
        o.attempted_at IS NULL AND gwk_opted_out(v.contact_id, o.instance_id) AS is_opted_out
      FROM unnest(candidates, places) AS c(message_id, place)
      JOIN outbox o ON o.message_id = c.message_id
      JOIN conversations v ON v.id = o.conversation_id
      JOIN instances i ON i.id = o.instance_id
      JOIN accounts a ON a.id = i.account_id
      WHERE o.head AND o.prepared AND (
        o.state = 'waiting'
        OR (o.claim_epoch, o.claim_holder) IS DISTINCT FROM (epochs[c.place], holders[c.place]))
    ), newly_claimed AS (
      UPDATE outbox o
      SET state = 'claimed', claim_id = claim_ids[j.place], claim_epoch = epochs[j.place],
        claim_holder = holders[j.place], claimed_at = now()
      FROM checked j
      WHERE o.message_id = j.message_id AND NOT j.is_suspended AND NOT j.is_opted_out
      RETURNING o.message_id, j.place
    ), released AS (
      UPDATE outbox o
      SET state = 'waiting', claim_id = NULL, claim_epoch = NULL, claim_holder = NULL, claimed_at = NULL
      FROM checked j
      WHERE o.message_id = j.message_id AND j.is_suspended AND j.state = 'claimed'
      RETURNING o.message_id
    ), released_followers AS (
      UPDATE outbox o
      SET state = 'waiting', claim_id = NULL, claim_epoch = NULL, claim_holder = NULL, claimed_at = NULL
      FROM checked j
      JOIN outbox h ON h.message_id = j.message_id
      WHERE (j.is_suspended OR h.attempted_at IS NOT NULL) AND o.conversation_id = h.conversation_id AND NOT o.head AND o.state = 'claimed'
        AND o.attempted_at IS NULL
        AND (o.claim_epoch, o.claim_holder) IS DISTINCT FROM (epochs[j.place], holders[j.place])
      RETURNING o.message_id
    )
    SELECT (SELECT array_agg(t.message_id ORDER BY t.message_id) FROM newly_claimed t),
      (SELECT array_agg(t.place ORDER BY t.message_id) FROM newly_claimed t),
      (SELECT array_agg(g.message_id) FROM (TABLE released UNION ALL TABLE released_followers) AS g),
      array_agg(j.message_id) FILTER (WHERE j.is_opted_out AND NOT j.is_suspended),
      array_agg(j.place) FILTER (WHERE j.is_opted_out AND NOT j.is_suspended)
    INTO claimed_ids, claimed_places, released_ids, opted_out_ids, opted_out_places
    FROM checked j;

    free := ARRAY(
      SELECT CASE WHEN l.is_wanted
        THEN l.max_messages - cardinality(array_positions(claimed_places, l.place::integer)) ELSE 0 END
      FROM unnest(limits, with_followers) WITH ORDINALITY AS l(max_messages, is_wanted, place) ORDER BY l.place);
    -- An unattempted head that was granted shows that its account is not suspended and its contact not opted out. After an
    -- attempted one, the others wait for its outcome.
    WITH following AS (
      SELECT f.message_id, c.place, row_number() OVER (PARTITION BY c.place ORDER BY f.depth, h.head_since) AS rank
      FROM unnest(claimed_ids, claimed_places) AS c(message_id, place)
      JOIN outbox h ON h.message_id = c.message_id
      JOIN instances i ON i.id = h.instance_id
      CROSS JOIN LATERAL (
        SELECT n.message_id, row_number() OVER in_order AS depth, bool_and(n.is_free) OVER in_order AS is_next
        FROM (
          SELECT e.message_id, e.seq, e.prepared AND e.attempted_at IS NULL
            AND (i.other_account_at IS NULL OR e.created_at >= i.other_account_at) AND (
            e.state = 'waiting'
            OR (e.claim_epoch, e.claim_holder) IS DISTINCT FROM (epochs[c.place], holders[c.place])) AS is_free
          FROM outbox e
          WHERE e.conversation_id = h.conversation_id AND e.seq >> 4 >= h.seq >> 4 AND e.seq > h.seq
          ORDER BY e.seq >> 4, e.seq LIMIT 7
        ) AS n WINDOW in_order AS (ORDER BY n.seq)
      ) AS f
      WHERE h.attempted_at IS NULL AND f.is_next
    ), also_claimed AS (
      UPDATE outbox o
      SET state = 'claimed', claim_id = claim_ids[f.place], claim_epoch = epochs[f.place],
        claim_holder = holders[f.place], claimed_at = now()
      FROM following f
      WHERE o.message_id = f.message_id AND f.rank <= free[f.place]
      RETURNING o.message_id
    )
    SELECT array_agg(t.message_id) INTO follower_ids FROM also_claimed t;
    IF follower_ids IS NOT NULL THEN
      claimed_ids := claimed_ids || follower_ids;
      SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(candidates || follower_ids) AS s;
    END IF;

    UPDATE messages m SET status = 'sending', version = m.version + 1, updated_at = now()
    WHERE m.id = ANY (claimed_ids) AND m.id BETWEEN lowest AND highest AND m.status = 'queued';
    IF released_ids IS NOT NULL THEN
      SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(candidates || released_ids) AS s;
      UPDATE messages m SET status = 'queued', version = m.version + 1, updated_at = now()
      WHERE m.id = ANY (released_ids) AND m.id BETWEEN lowest AND highest AND m.status = 'sending';
    END IF;
  END IF;

  RETURN QUERY
  SELECT r.place::integer, nullif(r.refusal, 'late'), r.message_id, r.message_id IS NOT NULL, NULL::messages,
    NULL::text, NULL::text, NULL::text, NULL::text, NULL::integer, NULL::timestamptz, NULL::bytea, NULL::bytea, NULL::timestamptz, NULL::text, NULL::timestamptz
  FROM (
    SELECT f.place, f.refusal, NULL::uuid AS message_id FROM unnest(refusals) WITH ORDINALITY AS f(refusal, place)
    UNION ALL
    SELECT p.place, NULL, p.message_id FROM unnest(opted_out_places, opted_out_ids) AS p(place, message_id)
  ) AS r;

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
  SELECT r.place::integer, NULL::text, o.message_id, false, m, v.group_id, v.lid, v.phone, v.username,
    v.timer_s, v.timer_set_at::timestamptz, c.content_sealed, c.built_sealed, o.attempted_at::timestamptz, i.interactive_mode, clock_timestamp()
  FROM unnest(instance_ids, epochs, holders, claim_ids) WITH ORDINALITY
    AS r(instance_id, epoch, holder, claim_id, place)
  JOIN instances i ON i.id = r.instance_id
  JOIN outbox o ON o.instance_id = r.instance_id AND o.claim_id = r.claim_id
    AND o.claim_epoch = r.epoch AND o.claim_holder = r.holder AND o.message_id = ANY (granted)
  JOIN conversations v ON v.id = o.conversation_id
  JOIN messages m ON m.id = o.message_id AND m.id = ANY (granted) AND m.id BETWEEN lowest AND highest
  LEFT JOIN message_contents c ON c.message_id = o.message_id
  WHERE refusals[r.place] IS NULL
  -- Followers come in the order of their conversation, whatever their head_since: they may have been heads of two contacts
  -- that were merged.
  ORDER BY r.place, CASE WHEN o.head THEN o.head_since END, o.seq, o.message_id;
END $$;

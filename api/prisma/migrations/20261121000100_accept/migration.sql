-- The SQL of POST /v1/messages. A group of requests is gathered in one call, decided by pure functions in the API,
-- and written in one call that proves, under locks, that what was decided on still holds.
--
-- Locks, in the order of the whole house: ledgers by instance, conversations by id; then what only these functions
-- insert: names, conversations, idempotency keys, each sorted. Two groups can wait for each other in one direction only.
--
-- Every table is read by one index look-up for each request, in sub-selects that the planner can neither join nor hash: a
-- plan made while a table was empty is kept for minutes, and one that reads all of the table is then the cheapest.
--
-- The write reads its arrays by place: unnest would copy each column of each statement into a store of its own, which
-- costs several times as much.

-- Minutes over which the mass block counts: the key comes whole from the highest level that sets it.
CREATE FUNCTION gwk_mass_window(instance_policy jsonb, account_policy jsonb, environment_minutes integer)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN jsonb_typeof(instance_policy -> 'mass_block') = 'object'
      THEN coalesce((instance_policy #>> '{mass_block,window_minutes}')::integer, 60)
    WHEN jsonb_typeof(account_policy -> 'mass_block') = 'object'
      THEN coalesce((account_policy #>> '{mass_block,window_minutes}')::integer, 60)
    ELSE environment_minutes
  END
$$;

-- What Postgres knows about each request, as of now. Nothing of it is kept beyond the decision.
-- Times are milliseconds since 1970; bytes come in as hex.
CREATE FUNCTION gwk_accept_gather(
  account_ids uuid[], instance_ids uuid[], names text[], are_groups boolean[], keys text[], fingerprints text[],
  reply_ids uuid[], media_ids uuid[], for_route text, environment_mass_minutes integer
) RETURNS TABLE (
  at double precision,
  instance_version text, state text, out_ms double precision, warm_up_from double precision,
  restricted_until double precision, instance_policy text,
  account_version text, account_policy text, account_suspended boolean,
  record_hash bytea, record_message uuid, record_response bytea,
  contact_id uuid, opted_out boolean, conversation_id uuid, counted boolean, last_wrote_at double precision,
  new_contacts integer, oldest_new_contact double precision,
  mass_contacts integer, mass_counted boolean,
  reply_ok boolean, media_found boolean, media_instances text[]
) LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
  present timestamptz := clock_timestamp();
  day_ago timestamptz := present - interval '24 hours';
  replies_ok boolean[];
  -- Of each file that was found, the instances that it came by.
  files text[];
BEGIN
  -- Apart, because a look at messages begins with a look at each of their partitions.
  IF cardinality(array_remove(reply_ids, NULL)) > 0 THEN
    replies_ok := ARRAY(
      SELECT (
        SELECT m.status IN ('sent', 'delivered', 'read') FROM messages m
        WHERE m.id = q.reply_id AND m.instance_id = q.instance_id LIMIT 1) IS TRUE
      FROM unnest(reply_ids, instance_ids) WITH ORDINALITY AS q(reply_id, instance_id, place)
      ORDER BY q.place);
  END IF;
  -- Apart, because few carry one.
  IF cardinality(array_remove(media_ids, NULL)) > 0 THEN
    files := ARRAY(
      SELECT (
        SELECT v.instance_ids::text FROM media v
        WHERE v.id = q.media_id AND v.account_id = q.account_id AND v.message_id IS NULL
          AND v.expires_at > present AND v.removed_at IS NULL
        LIMIT 1)
      FROM unnest(media_ids, account_ids) WITH ORDINALITY AS q(media_id, account_id, place)
      ORDER BY q.place);
  END IF;
  RETURN QUERY
  SELECT (extract(epoch FROM present) * 1000)::double precision,
    i.version, i.state,
    (i.out_ms + CASE WHEN i.state = 'connected' THEN 0
      ELSE extract(epoch FROM present - i.state_changed_at) * 1000 END)::double precision,
    (extract(epoch FROM CASE WHEN i.kind = 'sandbox' THEN i.created_at ELSE i.first_paired_at END) * 1000)::double precision,
    (extract(epoch FROM i.restricted_until) * 1000)::double precision,
    i.policy::text, a.version, a.policy::text, a.suspended_at IS NOT NULL,
    r.body_hash, r.resource_id, r.response_sealed,
    n.contact_id, n.opted_out, c.id, c.first_sent_at IS NOT NULL,
    (extract(epoch FROM c.last_wrote_at) * 1000)::double precision,
    coalesce(oldest.count, 0)::integer, (extract(epoch FROM oldest.first_sent_at) * 1000)::double precision,
    mass.contacts, mass.counted,
    q.reply_id IS NULL OR q.reply_ok,
    q.file IS NOT NULL, q.file::text[]
  FROM unnest(account_ids, instance_ids, names, are_groups, keys, fingerprints, reply_ids, replies_ok, files)
    WITH ORDINALITY AS q(account_id, instance_id, name, is_group, key, fingerprint, reply_id, reply_ok, file, place)
  LEFT JOIN LATERAL (
    SELECT v.xmin::text AS version, v.policy, v.suspended_at FROM accounts v WHERE v.id = q.account_id LIMIT 1
  ) a ON true
  LEFT JOIN LATERAL (
    SELECT v.xmin::text AS version, v.state, v.state_changed_at, v.out_ms, v.kind, v.created_at, v.first_paired_at,
      v.restricted_until, v.policy
    FROM instances v
    WHERE v.id = q.instance_id AND v.account_id = q.account_id AND v.deleted_at IS NULL LIMIT 1
  ) i ON true
  LEFT JOIN LATERAL (
    SELECT v.body_hash, v.resource_id, v.response_sealed FROM idempotency_records v
    WHERE v.account_id = q.account_id AND v.route = for_route AND v.key = q.key AND v.expires_at > present LIMIT 1
  ) r ON true
  LEFT JOIN LATERAL (
    SELECT v.contact_id, (SELECT true FROM opt_outs o WHERE o.contact_id = v.contact_id LIMIT 1) IS TRUE AS opted_out
    FROM contact_names v WHERE NOT q.is_group AND v.account_id = q.account_id AND v.name = q.name LIMIT 1
  ) n ON true
  LEFT JOIN LATERAL (
    SELECT v.id, v.first_sent_at, v.last_wrote_at FROM conversations v
    WHERE NOT q.is_group AND v.instance_id = q.instance_id AND v.contact_id = n.contact_id
    UNION ALL
    SELECT v.id, v.first_sent_at, v.last_wrote_at FROM conversations v
    WHERE q.is_group AND v.instance_id = q.instance_id AND v.group_id = q.name
    LIMIT 1
  ) c ON true
  LEFT JOIN LATERAL (
    SELECT v.first_sent_at, (
        SELECT l.new_contacts - v.first_sent_no + 1 FROM instance_ledgers l WHERE l.instance_id = v.instance_id LIMIT 1
      ) AS count
    FROM conversations v
    WHERE NOT q.is_group AND c.first_sent_at IS NULL AND c.last_wrote_at IS NULL
      AND v.instance_id = q.instance_id AND v.first_sent_at > day_ago
    ORDER BY v.first_sent_at, v.first_sent_no LIMIT 1
  ) oldest ON true
  LEFT JOIN LATERAL (
    SELECT count(*)::integer AS contacts, coalesce(bool_or(s.contact_id = n.contact_id), false) AS counted
    FROM mass_sends s
    WHERE NOT q.is_group AND c.last_wrote_at IS NULL AND s.instance_id = q.instance_id AND s.fingerprint = decode(q.fingerprint, 'hex')
      AND s.at > present - make_interval(mins => gwk_mass_window(i.policy, a.policy, environment_mass_minutes))
  ) mass ON true
  ORDER BY q.place;
END $$;

-- Whether each request repeats what a record says: the account is as it was seen, and the record is that of the message
-- that was made, by the same body. Its answer can be made again.
CREATE FUNCTION gwk_accept_prove(
  account_ids uuid[], account_versions text[], for_route text, keys text[], body_hashes text[], message_ids uuid[]
) RETURNS boolean[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
BEGIN
  RETURN ARRAY(
    SELECT (SELECT a.xmin::text = q.account_version FROM accounts a WHERE a.id = q.account_id LIMIT 1) IS TRUE
      AND (
        SELECT r.resource_id = q.message_id AND r.body_hash = decode(q.body_hash, 'hex') AND r.response_sealed IS NULL
          AND r.expires_at > clock_timestamp()
        FROM idempotency_records r
        WHERE r.account_id = q.account_id AND r.route = for_route AND r.key = q.key LIMIT 1) IS TRUE
    FROM unnest(account_ids, account_versions, keys, body_hashes, message_ids) WITH ORDINALITY
      AS q(account_id, account_version, key, body_hash, message_id, place)
    ORDER BY q.place);
END $$;

-- Takes what a group writes to. Somebody may hold a contact for long (an opt-out, a merge): the whole group, with other
-- contacts, instances and accounts, is not to wait for them. It fails (55P03), and is written without theirs.
CREATE FUNCTION gwk_accept_lock(conversation_ids uuid[], contact_ids uuid[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET lock_timeout = '200ms'
AS $$
BEGIN
  PERFORM FROM conversations c WHERE c.id = ANY (conversation_ids) ORDER BY c.id FOR NO KEY UPDATE;
  IF cardinality(contact_ids) > 0 THEN
    PERFORM FROM contacts c WHERE c.id = ANY (contact_ids) ORDER BY c.id FOR KEY SHARE;
  END IF;
END $$;

-- Writes what was decided. True for each request that was written; false where the world is not as it was believed to be
-- (or the idempotency key went to another): nothing of that one is written, and it is decided again.
--
-- Nothing is taken on trust: what the decision was made of is proved here, under the locks. The rows of account and
-- instance are those that were seen (a row's xmin changes with every change of it: policies, suspension, deletion); the
-- conversation has the contact, its standing with the limits and the last word that were seen; the contact has not opted
-- out; the limits have room.
--
-- `new_contact_limits` is set for those to a contact who never wrote and was not counted, `mass_limits` for those whose
-- contact was not counted with this text. Limits travel with the request, and its rank among the contacts that the group
-- adds: what is proved is that the room that the decision relied on is still there. Whichever message of a contact
-- comes through counts it. `unprepared`: those that can be claimed only after the worker has prepared them. `made_*`: how many different contacts, conversations and keys the group is to make.
-- `leave_held`: nothing is written to conversations and contacts that somebody holds. `ranks`: of each request, how many
-- of the group take a place in its conversation up to and with it.
CREATE FUNCTION gwk_accept_write(
  message_ids uuid[], account_ids uuid[], account_versions text[], instance_ids uuid[], instance_versions text[],
  conversation_ids uuid[], new_conversations boolean[], contact_ids uuid[], new_contacts boolean[], names text[],
  counted boolean[], last_wrote double precision[],
  recipients text[], types text[], wa_message_ids text[], contents text[],
  created double precision[], out_ms bigint[], releases timestamptz[],
  for_route text, keys text[], body_hashes text[], responses text[],
  new_contact_limits integer[], new_contact_ranks integer[],
  fingerprints text[], mass_limits integer[], mass_ranks integer[], mass_minutes integer[], unprepared uuid[],
  made_contacts integer, made_conversations integer, made_keys integer, leave_held boolean, ranks integer[]
) RETURNS boolean[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
  places integer[] := ARRAY(SELECT generate_series(1, cardinality(message_ids)));
  -- Of each request, whether it is still to be written.
  good boolean[];
  -- Account or instance and its version, where that is no longer so.
  moved text[];
  -- Contacts that are there, of conversations to make.
  known uuid[];
  free uuid[];
  made integer;
  present timestamptz;
BEGIN
  PERFORM FROM instance_ledgers l
  WHERE l.instance_id = ANY (ARRAY(
    SELECT DISTINCT instance_ids[i] FROM unnest(places) AS i
    WHERE new_contact_limits[i] IS NOT NULL OR mass_limits[i] IS NOT NULL))
  ORDER BY l.instance_id FOR NO KEY UPDATE;

  -- A contact whom this instance has no conversation with yet has no lock there: an opt-out waits for this one.
  IF made_conversations > 0 THEN
    known := ARRAY(
      SELECT contact_ids[i] FROM unnest(places) AS i
      WHERE new_conversations[i] AND NOT new_contacts[i] AND contact_ids[i] IS NOT NULL);
  END IF;
  IF leave_held THEN
    free := ARRAY(
      SELECT c.id FROM conversations c WHERE c.id = ANY (conversation_ids) ORDER BY c.id FOR NO KEY UPDATE SKIP LOCKED)
      || ARRAY(SELECT c.id FROM contacts c WHERE c.id = ANY (known) ORDER BY c.id FOR KEY SHARE SKIP LOCKED);
  ELSE
    PERFORM gwk_accept_lock(conversation_ids, known);
  END IF;

  -- From here on nobody adds to what the limits count, and nobody accepts or opts out in these conversations.
  present := clock_timestamp();
  moved := ARRAY(
    SELECT q.id || ' ' || q.version
    FROM (SELECT DISTINCT instance_ids[i] AS id, instance_versions[i] AS version FROM unnest(places) AS i) AS q
    WHERE (SELECT v.xmin::text = q.version FROM instances v WHERE v.id = q.id LIMIT 1) IS NOT TRUE
  ) || ARRAY(
    SELECT q.id || ' ' || q.version
    FROM (SELECT DISTINCT account_ids[i] AS id, account_versions[i] AS version FROM unnest(places) AS i) AS q
    WHERE (SELECT v.xmin::text = q.version FROM accounts v WHERE v.id = q.id LIMIT 1) IS NOT TRUE);
  good := ARRAY(
    SELECT (moved = '{}' OR (
        instance_ids[i] || ' ' || instance_versions[i] <> ALL (moved)
        AND account_ids[i] || ' ' || account_versions[i] <> ALL (moved)))
      AND (contact_ids[i] IS NULL
        OR (SELECT true FROM opt_outs o WHERE o.contact_id = contact_ids[i] LIMIT 1) IS NULL)
      AND (contact_ids[i] IS NULL OR new_contacts[i] OR NOT new_conversations[i]
        OR (SELECT true FROM contacts c WHERE c.id = contact_ids[i] LIMIT 1) IS TRUE)
      AND (new_conversations[i] OR (
        SELECT c.contact_id IS NOT DISTINCT FROM contact_ids[i] AND (c.first_sent_at IS NOT NULL) = counted[i]
          AND c.last_wrote_at IS NOT DISTINCT FROM to_timestamp(last_wrote[i] / 1000)
        FROM conversations c WHERE c.id = conversation_ids[i] LIMIT 1) IS TRUE)
      AND (new_contact_limits[i] IS NULL OR (
        SELECT new_contact_limits[i] >= new_contact_ranks[i] + l.new_contacts + 1 - coalesce((
          SELECT v.first_sent_no FROM conversations v
          WHERE v.instance_id = l.instance_id AND v.first_sent_at > present - interval '24 hours'
          ORDER BY v.first_sent_at, v.first_sent_no LIMIT 1), l.new_contacts + 1)
        FROM instance_ledgers l WHERE l.instance_id = instance_ids[i] LIMIT 1) IS TRUE)
      AND (mass_limits[i] IS NULL OR mass_limits[i] >= mass_ranks[i] + (
        SELECT count(*) FROM mass_sends s
        WHERE s.instance_id = instance_ids[i] AND s.fingerprint = decode(fingerprints[i], 'hex')
          AND s.at > present - make_interval(mins => mass_minutes[i])))
    FROM unnest(places) AS i
    ORDER BY i);

  IF leave_held THEN
    good := ARRAY(
      SELECT good[i] AND (CASE
          WHEN new_conversations[i] THEN new_contacts[i] OR contact_ids[i] IS NULL OR contact_ids[i] = ANY (free)
          ELSE conversation_ids[i] = ANY (free) END)
      FROM unnest(places) AS i
      ORDER BY i);
  END IF;

  -- A name, conversation or key that another has made meanwhile stays the other's. Who lost is looked for only where
  -- fewer rows were made than meant.
  IF made_contacts > 0 THEN
    WITH named AS (
      INSERT INTO contact_names (account_id, name, contact_id)
      SELECT DISTINCT account_ids[i], names[i], contact_ids[i]
      FROM unnest(places) AS i
      WHERE new_contacts[i] AND good[i]
      ORDER BY 1, 2
      ON CONFLICT DO NOTHING RETURNING contact_names.account_id, contact_names.contact_id
    )
    INSERT INTO contacts (id, account_id) SELECT n.contact_id, n.account_id FROM named n;
    GET DIAGNOSTICS made = ROW_COUNT;
    IF made < made_contacts THEN
      good := ARRAY(
        SELECT good[i]
          AND (NOT new_contacts[i] OR (SELECT true FROM contacts c WHERE c.id = contact_ids[i] LIMIT 1) IS TRUE)
        FROM unnest(places) AS i
        ORDER BY i);
    END IF;
  END IF;

  IF made_conversations > 0 THEN
    INSERT INTO conversations (id, instance_id, contact_id, group_id)
    SELECT DISTINCT conversation_ids[i], instance_ids[i], contact_ids[i], CASE WHEN contact_ids[i] IS NULL THEN names[i] END
    FROM unnest(places) AS i
    WHERE new_conversations[i] AND good[i]
    ORDER BY 2, 3, 4
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS made = ROW_COUNT;
    IF made < made_conversations THEN
      good := ARRAY(
        SELECT good[i] AND (NOT new_conversations[i]
          OR (SELECT true FROM conversations c WHERE c.id = conversation_ids[i] LIMIT 1) IS TRUE)
        FROM unnest(places) AS i
        ORDER BY i);
    END IF;
  END IF;

  IF made_keys > 0 THEN
    INSERT INTO idempotency_records AS r
      (account_id, route, key, body_hash, instance_id, resource_id, status, response_sealed, expires_at)
    SELECT account_ids[i], for_route, keys[i], decode(body_hashes[i], 'hex'), instance_ids[i], message_ids[i], 202,
      decode(responses[i], 'hex'),
      present + interval '24 hours'
    FROM unnest(places) AS i
    WHERE keys[i] IS NOT NULL AND good[i]
    ORDER BY account_ids[i], keys[i]
    ON CONFLICT (account_id, route, key) DO UPDATE
    SET body_hash = excluded.body_hash, instance_id = excluded.instance_id, resource_id = excluded.resource_id,
      status = excluded.status, response_sealed = excluded.response_sealed, locked_until = NULL,
      expires_at = excluded.expires_at
    WHERE r.expires_at <= present;
    GET DIAGNOSTICS made = ROW_COUNT;
    IF made < made_keys THEN
      good := ARRAY(
        SELECT good[i] AND (keys[i] IS NULL OR (
          SELECT r.resource_id = message_ids[i] FROM idempotency_records r
          WHERE r.account_id = account_ids[i] AND r.route = for_route AND r.key = keys[i] LIMIT 1) IS TRUE)
        FROM unnest(places) AS i
        ORDER BY i);
    END IF;
  END IF;

  -- A contact who never wrote takes the next number of the instance.
  IF cardinality(array_remove(new_contact_limits, NULL)) > 0 THEN
    UPDATE instance_ledgers l SET new_contacts = l.new_contacts + f.amount
    FROM (
      SELECT instance_ids[i] AS instance_id, count(DISTINCT conversation_ids[i]) AS amount
      FROM unnest(places) AS i
      WHERE new_contact_limits[i] IS NOT NULL AND good[i]
      GROUP BY 1
    ) AS f
    WHERE l.instance_id = f.instance_id;
  END IF;

  -- As the places in the conversations were given, they count on all being written.
  IF false = ANY (good) THEN
    ranks := ARRAY(
      SELECT count(*) FILTER (WHERE good[i] AND releases[i] IS NULL) OVER (PARTITION BY conversation_ids[i] ORDER BY i)
      FROM unnest(places) AS i
      ORDER BY i);
  END IF;

  WITH entries AS MATERIALIZED (
    SELECT i AS place, message_ids[i] AS message_id, account_ids[i] AS account_id, instance_ids[i] AS instance_id,
      conversation_ids[i] AS conversation_id, contact_ids[i] AS contact_id, recipients[i] AS recipient, types[i] AS type,
      wa_message_ids[i] AS wa_message_id, decode(contents[i], 'hex') AS content, out_ms[i] AS out_ms,
      releases[i] AS release, new_contact_limits[i] AS new_limit, decode(fingerprints[i], 'hex') AS fingerprint,
      to_timestamp(created[i] / 1000) AS made_at, ranks[i] AS rank
    FROM unnest(places) AS i
    WHERE good[i]
  ), advanced AS (
    UPDATE conversations c
    SET last_seq = c.last_seq + e.amount,
      first_sent_at = CASE WHEN e.is_new THEN present ELSE c.first_sent_at END,
      first_sent_no = CASE WHEN e.is_new THEN (
          SELECT l.new_contacts FROM instance_ledgers l WHERE l.instance_id = e.instance_id LIMIT 1) - e.later
        ELSE c.first_sent_no END
    FROM (
      -- The ledger has the number of the last new contact: the others are counted back from it.
      SELECT g.*, count(*) FILTER (WHERE g.is_new) OVER (PARTITION BY g.instance_id ORDER BY g.place DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) AS later
      FROM (
        SELECT n.instance_id, n.conversation_id, min(n.place) AS place, bool_or(n.new_limit IS NOT NULL) AS is_new,
          max(n.rank) AS amount
        FROM entries n GROUP BY n.instance_id, n.conversation_id
      ) AS g
    ) AS e
    WHERE c.id = e.conversation_id
    RETURNING c.id, c.last_seq - e.amount AS before
  ), queued AS (
    INSERT INTO outbox (message_id, instance_id, conversation_id, seq, state, head, turn_at, prepared, release_at,
      out_ms_at_start, created_at)
    SELECT e.message_id, e.instance_id, e.conversation_id,
      CASE WHEN e.release IS NULL THEN e.before + e.rank END,
      CASE WHEN e.release IS NULL THEN 'waiting' ELSE 'scheduled' END,
      e.is_head, CASE WHEN e.is_head THEN present END, e.message_id <> ALL (unprepared), e.release, e.out_ms, present
    FROM (
      SELECT n.*, a.before, n.release IS NULL AND n.rank = 1 AND (
        SELECT true FROM outbox o WHERE o.conversation_id = n.conversation_id AND o.head LIMIT 1) IS NULL AS is_head
      FROM entries n JOIN advanced a ON a.id = n.conversation_id
    ) AS e
  ), said AS (
    INSERT INTO message_contents (message_id, instance_id, content_sealed)
    SELECT e.message_id, e.instance_id, e.content FROM entries e
  ), counted AS (
    INSERT INTO mass_sends (instance_id, fingerprint, contact_id, at)
    SELECT DISTINCT e.instance_id, e.fingerprint, e.contact_id, present FROM entries e
    WHERE e.fingerprint IS NOT NULL
    ORDER BY e.instance_id, e.fingerprint, e.contact_id
    ON CONFLICT (instance_id, fingerprint, contact_id) DO UPDATE SET at = excluded.at
  )
  INSERT INTO messages (id, account_id, instance_id, conversation_id, direction, "to", type, status, wa_message_id,
    created_at, scheduled_for, updated_at)
  SELECT e.message_id, e.account_id, e.instance_id, e.conversation_id, 'outbound', e.recipient, e.type, 'queued',
    e.wa_message_id, e.made_at, e.release, e.made_at
  FROM entries e;

  RETURN good;
END $$;

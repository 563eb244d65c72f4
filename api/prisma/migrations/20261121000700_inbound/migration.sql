-- SQL of inbound messages, replies, votes and edits, of opt-outs, and of contact merges.
--
-- Lock order: leases by instance, conversations by id, contacts by id, then their rows. An opt-out or a merge locks the
-- contact and all its conversations. So an accept comes either before it and is included, or after it and sees it
-- (docs/decisions/0017-change-contacts-under-their-conversation-locks.md).

-- CreateTable
CREATE TABLE "poll_votes" (
    "message_id" UUID NOT NULL,
    "voter" TEXT NOT NULL,
    "chosen" INTEGER[],

    CONSTRAINT "poll_votes_pkey" PRIMARY KEY ("message_id","voter")
);

-- AddForeignKey
ALTER TABLE "poll_votes" ADD CONSTRAINT "poll_votes_message_id_fkey" FOREIGN KEY ("message_id") REFERENCES "menus"("message_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- ------------------------------------------------------------------ contacts

-- Locks contacts with all their conversations against concurrent accepts, opt-outs and merges.
CREATE FUNCTION gwk_lock_contacts(ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM conversations v WHERE v.contact_id = ANY (ids) ORDER BY v.id FOR NO KEY UPDATE;
  PERFORM FROM contacts c WHERE c.id = ANY (ids) ORDER BY c.id FOR UPDATE;
  -- Conversations created before the second lock; the first ones are locked already.
  PERFORM FROM conversations v WHERE v.contact_id = ANY (ids) ORDER BY v.id FOR NO KEY UPDATE;
END $$;

-- Locks the contact of a name as gwk_lock_contacts does. Creates it as `new_contact` if it is missing; NULL: returns
-- NULL then.
CREATE FUNCTION gwk_lock_contact_by_name(account uuid, contact_name text, new_contact uuid) RETURNS uuid
LANGUAGE plpgsql AS $$
DECLARE
  contact uuid;
BEGIN
  LOOP
    SELECT n.contact_id INTO contact FROM contact_names n WHERE n.account_id = account AND n.name = contact_name;
    IF NOT FOUND THEN
      IF new_contact IS NULL THEN
        RETURN NULL;
      END IF;
      WITH new_names AS (
        INSERT INTO contact_names (account_id, name, contact_id) VALUES (account, contact_name, new_contact)
        ON CONFLICT DO NOTHING RETURNING contact_id
      )
      INSERT INTO contacts (id, account_id) SELECT n.contact_id, account FROM new_names n;
      CONTINUE;
    END IF;
    PERFORM gwk_lock_contacts(ARRAY[contact]);
    IF EXISTS (
      SELECT FROM contact_names n WHERE n.account_id = account AND n.name = contact_name AND n.contact_id = contact
    ) THEN
      RETURN contact;
    END IF;
  END LOOP;
END $$;

-- Merges a conversation into another of the same instance. The caller holds both.
--
-- Waiting messages of both form one queue by acceptance time, and each conversation keeps its own order. Claimed
-- messages stay in front: the head first, then another claimed one.
CREATE FUNCTION gwk_merge_conversations(target_id uuid, source_id uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  base_seq bigint;
  waiting bigint;
BEGIN
  SELECT max(v.last_seq) INTO base_seq FROM conversations v WHERE v.id IN (target_id, source_id);
  WITH own AS (
    SELECT o.message_id, o.conversation_id, o.seq, o.state = 'claimed' AS claimed,
      max(o.created_at) OVER (PARTITION BY o.conversation_id ORDER BY o.seq) AS since
    FROM outbox o WHERE o.conversation_id IN (target_id, source_id) AND o.seq IS NOT NULL
  ), ordered AS (
    SELECT w.message_id, row_number() OVER (ORDER BY w.claimed DESC, w.since, w.conversation_id, w.seq) AS place
    FROM own w
  ), moved AS (
    UPDATE outbox o SET conversation_id = target_id, head = false, seq = base_seq + l.place
    FROM ordered l WHERE o.message_id = l.message_id
    RETURNING o.message_id
  )
  SELECT count(*) INTO waiting FROM moved;
  UPDATE outbox o SET conversation_id = target_id WHERE o.conversation_id = source_id;
  UPDATE outbox o SET head = true, head_since = COALESCE(o.head_since, now())
  WHERE o.conversation_id = target_id AND o.seq = base_seq + 1;

  UPDATE conversations k
  SET last_seq = base_seq + waiting, last_wrote_at = GREATEST(k.last_wrote_at, g.last_wrote_at),
    first_sent_at = f.first_sent_at, first_sent_no = f.first_sent_no
  FROM conversations g
  CROSS JOIN LATERAL (
    SELECT v.first_sent_at, v.first_sent_no FROM conversations v WHERE v.id IN (target_id, source_id)
    ORDER BY v.first_sent_no NULLS LAST LIMIT 1
  ) AS f
  WHERE k.id = target_id AND g.id = source_id;

  UPDATE messages m SET conversation_id = target_id WHERE m.conversation_id = source_id;
  -- Reads partitions, so it comes after `messages`: the lock order of a partition drop.
  UPDATE conversations k SET days = gwk_merge_days(k.days, g.days)
  FROM conversations g WHERE k.id = target_id AND g.id = source_id;
  UPDATE menus m SET conversation_id = target_id WHERE m.conversation_id = source_id;
  INSERT INTO inbound_seen (conversation_id, participant, wa_message_id, message_id, seen_at)
  SELECT target_id, s.participant, s.wa_message_id, s.message_id, s.seen_at FROM inbound_seen s
  WHERE s.conversation_id = source_id
  ON CONFLICT DO NOTHING;
  DELETE FROM conversations v WHERE v.id = source_id;
END $$;

-- Merges two contacts. The caller holds both (gwk_lock_contacts). The result is opted out if one of them was.
CREATE FUNCTION gwk_merge_contacts(target_id uuid, source_id uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gwk_merge_conversations(k.id, g.id)
  FROM conversations g
  JOIN conversations k ON k.instance_id = g.instance_id AND k.contact_id = target_id
  WHERE g.contact_id = source_id;
  UPDATE conversations v SET contact_id = target_id WHERE v.contact_id = source_id;

  UPDATE opt_outs o SET contact_id = target_id
  WHERE o.contact_id = source_id AND NOT EXISTS (SELECT FROM opt_outs p WHERE p.contact_id = target_id);
  DELETE FROM mass_sends s
  WHERE s.contact_id = source_id
    AND EXISTS (SELECT FROM mass_sends t WHERE t.fingerprint = s.fingerprint AND t.contact_id = target_id);
  UPDATE mass_sends s SET contact_id = target_id WHERE s.contact_id = source_id;
  UPDATE contact_names n SET contact_id = target_id WHERE n.contact_id = source_id;
  UPDATE contacts c SET name = COALESCE(c.name, g.name) FROM contacts g WHERE c.id = target_id AND g.id = source_id;
  DELETE FROM contacts c WHERE c.id = source_id;
END $$;

-- Links two names of one contact. If both had a contact, the older one is kept. `opted_out`: the caller fails the
-- waiting messages of the merged contact.
CREATE FUNCTION gwk_link_names(account uuid, name_a text, name_b text, new_contact uuid)
RETURNS TABLE (contact_id uuid, merged boolean, opted_out boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  a uuid;
  b uuid;
BEGIN
  merged := false;
  LOOP
    a := (SELECT n.contact_id FROM contact_names n WHERE n.account_id = account AND n.name = name_a);
    b := (SELECT n.contact_id FROM contact_names n WHERE n.account_id = account AND n.name = name_b);
    EXIT WHEN a = b;
    IF a IS NULL AND b IS NULL THEN
      a := gwk_lock_contact_by_name(account, name_a, new_contact);
      CONTINUE;
    END IF;
    PERFORM gwk_lock_contacts(ARRAY[a, b]);
    CONTINUE WHEN NOT EXISTS (SELECT FROM contacts c WHERE c.id = COALESCE(a, b));
    IF a IS NULL OR b IS NULL THEN
      INSERT INTO contact_names (account_id, name, contact_id)
      VALUES (account, CASE WHEN a IS NULL THEN name_a ELSE name_b END, COALESCE(a, b))
      ON CONFLICT DO NOTHING;
      CONTINUE;
    END IF;
    CONTINUE WHEN (SELECT count(*) FROM contact_names n
      WHERE n.account_id = account AND (n.name, n.contact_id) IN ((name_a, a), (name_b, b))) < 2;
    PERFORM gwk_merge_contacts(LEAST(a, b), GREATEST(a, b));
    merged := true;
  END LOOP;

  UPDATE opt_outs o SET phone = gwk_contact_name(a)
  WHERE o.contact_id = a AND o.phone IS NULL AND position('@' IN gwk_contact_name(a)) = 0;
  contact_id := a;
  opted_out := EXISTS (SELECT FROM opt_outs o WHERE o.contact_id = a);
  RETURN NEXT;
END $$;

-- Opt-outs with waiting messages left to fail.
CREATE INDEX opt_outs_unfinished_idx ON opt_outs (contact_id) WHERE unfinished;

-- Waiting, unattempted messages of a contact.
CREATE FUNCTION gwk_waiting_messages_of_contact(contact uuid, max_messages integer) RETURNS TABLE (message_id uuid)
LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
  SELECT w.message_id FROM conversations v
  -- OFFSET 0 forces a lookup per conversation; otherwise ORDER BY reads the whole queue by its primary key.
  CROSS JOIN LATERAL (
    SELECT o.message_id FROM outbox o WHERE o.conversation_id = v.id AND o.attempted_at IS NULL OFFSET 0) AS w
  WHERE v.contact_id = contact
  ORDER BY w.message_id LIMIT max_messages
$$;

-- Forms in which a phone number can be searched: with and without the digit that the network omits.
CREATE FUNCTION gwk_phone_forms(phone text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT phone || ' ' || CASE
    WHEN phone ~ '^55[1-9][0-9]9[6-9][0-9]{7}$' THEN left(phone, 4) || substr(phone, 6)
    WHEN phone ~ '^55[1-9][0-9][6-9][0-9]{7}$' THEN left(phone, 4) || '9' || substr(phone, 5)
    WHEN phone ~ '^521[0-9]{10}$' THEN '52' || substr(phone, 4)
    WHEN phone ~ '^52[0-9]{10}$' THEN '521' || substr(phone, 3)
    WHEN phone ~ '^549[0-9]{10}$' THEN '54' || substr(phone, 4)
    WHEN phone ~ '^54[0-9]{10}$' THEN '549' || substr(phone, 3)
    ELSE '' END
$$;

-- ------------------------------------------------------------------ inbound messages

CREATE FUNCTION gwk_menu_facts(menu menus) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('message_id', menu.message_id, 'wa_message_id', menu.wa_message_id, 'kind', menu.kind,
    'mode', menu.mode, 'options', encode(menu.options_sealed, 'base64'),
    'sent_at', extract(epoch FROM menu.sent_at) * 1000, 'answered', menu.answered_at IS NOT NULL)
$$;

-- Facts about the conversations of inbound messages, one row for each. Names are looked up one by one: a join made
-- while the table is small would search by account alone, and its plan would be kept.
-- `names`: canonical name of the contact in a direct chat. `senders`: of the sender in a group. `alts`: the person's
-- other name.
-- `targets`: network id of the message that was clicked or voted on. `quotes`: of the quoted message. `typed`: the
-- newest menu matters. `voters`: the voter in the target poll, or in the newest menu if there is no target.
CREATE FUNCTION gwk_receive_gather(
  instance_ids uuid[], names text[], group_ids text[], senders text[], alts text[],
  targets text[], quotes text[], typed boolean[], voters text[]
) RETURNS TABLE (
  account_id uuid, account_policy text, instance_policy text,
  contact_id uuid, contact_name text, conversation_id uuid,
  sender_id uuid, sender_name text, alt_id uuid, alt_name text,
  newest_menu jsonb, quoted_menu jsonb, target_menu jsonb, chosen integer[]
)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
BEGIN
  RETURN QUERY
  SELECT i.account_id, CASE WHEN q.is_typed THEN a.policy::text END, CASE WHEN q.is_typed THEN i.policy::text END,
    n.contact_id, gwk_contact_name(n.contact_id), c.id,
    s.contact_id, gwk_contact_name(s.contact_id), t.contact_id, gwk_contact_name(t.contact_id),
    newest.facts, quoted.facts, target.facts, w.chosen
  FROM unnest(instance_ids, names, group_ids, senders, alts, targets, quotes, typed, voters) WITH ORDINALITY
    AS q(instance_id, name, group_id, sender, alt, target, quote, is_typed, voter, place)
  LEFT JOIN instances i ON i.id = q.instance_id
  LEFT JOIN accounts a ON a.id = i.account_id
  LEFT JOIN LATERAL (
    SELECT k.contact_id FROM contact_names k WHERE k.account_id = i.account_id AND k.name = q.name LIMIT 1
  ) n ON true
  LEFT JOIN LATERAL (
    SELECT k.contact_id FROM contact_names k WHERE k.account_id = i.account_id AND k.name = q.sender LIMIT 1
  ) s ON true
  LEFT JOIN LATERAL (
    SELECT k.contact_id FROM contact_names k WHERE k.account_id = i.account_id AND k.name = q.alt LIMIT 1
  ) t ON true
  LEFT JOIN LATERAL (
    SELECT v.id FROM conversations v WHERE v.instance_id = i.id AND v.contact_id = n.contact_id
    UNION ALL
    SELECT v.id FROM conversations v WHERE v.instance_id = i.id AND v.group_id = q.group_id
  ) c ON true
  LEFT JOIN LATERAL (
    SELECT m.message_id, gwk_menu_facts(m) AS facts FROM menus m
    WHERE q.is_typed AND m.conversation_id = c.id AND m.sent_at IS NOT NULL
    ORDER BY m.sent_at DESC, m.message_id DESC LIMIT 1
  ) newest ON true
  LEFT JOIN LATERAL (
    SELECT gwk_menu_facts(m) AS facts FROM menus m
    WHERE q.is_typed AND m.instance_id = i.id AND m.wa_message_id = q.quote AND m.conversation_id = c.id
      AND m.sent_at IS NOT NULL LIMIT 1
  ) quoted ON true
  LEFT JOIN LATERAL (
    SELECT m.message_id, gwk_menu_facts(m) AS facts FROM menus m
    WHERE m.instance_id = i.id AND m.wa_message_id = q.target AND m.conversation_id = c.id LIMIT 1
  ) target ON true
  LEFT JOIN poll_votes w ON w.voter = q.voter
    AND w.message_id = CASE WHEN q.target IS NULL THEN newest.message_id ELSE target.message_id END
  ORDER BY q.place;
END $$;

-- Messages of an instance by their network ids, of any day.
CREATE FUNCTION gwk_messages_by_network_id(instance uuid, names text[])
RETURNS TABLE (id uuid, conversation_id uuid, direction text, wa_message_id text, participant text)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT m.* FROM unnest(names) AS n(name)
  CROSS JOIN LATERAL (
    SELECT v.id, v.conversation_id, v.direction, v.wa_message_id, v.participant FROM messages v
    WHERE gwk_equals_by_hash(v.wa_message_id, n.name) AND v.instance_id = instance
    ORDER BY gwk_hash_high(v.wa_message_id)) AS m;
END $$;

-- Messages of conversations by their network ids: last three days first, then all. One row for each.
CREATE FUNCTION gwk_receive_targets(instance_ids uuid[], conversation_ids uuid[], wa_message_ids text[])
RETURNS TABLE (message_id uuid, direction text, participant text)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
DECLARE
  recent_from uuid := gwk_lowest_id(now() - interval '3 days');
  found uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  found := ARRAY(
    SELECT (SELECT m.id FROM messages m
      WHERE gwk_equals_by_hash(m.wa_message_id, q.wa_message_id)
        AND m.instance_id = q.instance_id AND m.conversation_id = q.conversation_id AND m.id >= recent_from
      ORDER BY gwk_hash_high(m.wa_message_id) LIMIT 1)
    FROM unnest(instance_ids, conversation_ids, wa_message_ids) WITH ORDINALITY
      AS q(instance_id, conversation_id, wa_message_id, place)
    ORDER BY q.place);
  IF array_position(found, NULL) IS NOT NULL THEN
    found := ARRAY(
      SELECT COALESCE(q.id, (SELECT m.id FROM messages m
        WHERE gwk_equals_by_hash(m.wa_message_id, q.wa_message_id)
          AND m.instance_id = q.instance_id AND m.conversation_id = q.conversation_id AND m.id < recent_from
        ORDER BY gwk_hash_high(m.wa_message_id) LIMIT 1))
      FROM unnest(found, instance_ids, conversation_ids, wa_message_ids) WITH ORDINALITY
        AS q(id, instance_id, conversation_id, wa_message_id, place)
      ORDER BY q.place);
  END IF;
  SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(found) AS s;
  RETURN QUERY
  SELECT m.id, m.direction, m.participant
  FROM unnest(found) WITH ORDINALITY AS q(id, place)
  LEFT JOIN LATERAL (
    SELECT v.id, v.direction, v.participant FROM messages v
    WHERE v.id = q.id AND v.id = ANY (found) AND v.id BETWEEN lowest AND highest LIMIT 1) m ON true
  ORDER BY q.place;
END $$;

-- Writes inbound messages with their events (as in gwk_update_messages), each message once. A caller without a holder
-- is the API itself.
-- Fields of an item (api/src/inbound/write.ts):
--   has_row, wrote: it becomes a row of messages; its sender wrote.
--   reads_menus, newest_menu: newest menu of the conversation that the decision used (NULL: none).
--   answers, typed: the menu that it answers; a typed answer needs an unanswered menu.
--   poll, voter, chosen_before, chosen: the vote, and the earlier vote that the decision used.
--   deletes: the message that was deleted for everyone.
-- result: 'fenced', 'gone', 'written', 'duplicate', or 'retry' (a fact is stale, or another transaction created the
-- name or conversation; nothing is written).
CREATE FUNCTION gwk_receive(instance_ids uuid[], epochs integer[], holders uuid[], items jsonb, events jsonb)
RETURNS TABLE (number integer, result text)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
#variable_conflict use_column
DECLARE
  refusals text[] := gwk_fence(instance_ids, epochs, holders);
  accepted integer[];
  inserted uuid[];
  renamed uuid[];
  deletions uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  IF array_position(holders, NULL) IS NOT NULL THEN
    refusals := ARRAY(
      SELECT CASE WHEN q.holder IS NOT NULL THEN q.refusal
        WHEN (SELECT true FROM instances i WHERE i.id = q.instance_id AND i.deleted_at IS NULL) IS NULL THEN 'gone' END
      FROM unnest(instance_ids, holders, refusals) WITH ORDINALITY AS q(instance_id, holder, refusal, place)
      ORDER BY q.place);
  END IF;
  accepted := ARRAY(
    SELECT i.number FROM jsonb_to_recordset(items) AS i(number integer, place integer)
    WHERE refusals[i.place] IS NULL);

  PERFORM FROM conversations v
  WHERE v.id = ANY (ARRAY(
    SELECT i.conversation_id
    FROM jsonb_to_recordset(items) AS i(number integer, conversation_id uuid, new_conversation boolean)
    WHERE NOT i.new_conversation AND i.number = ANY (accepted)))
  ORDER BY v.id FOR NO KEY UPDATE;
  PERFORM FROM contacts c
  WHERE c.id = ANY (ARRAY(
    SELECT i.contact_id
    FROM jsonb_to_recordset(items)
      AS i(number integer, contact_id uuid, new_contact boolean, new_conversation boolean)
    WHERE i.new_conversation AND NOT i.new_contact AND i.contact_id IS NOT NULL AND i.number = ANY (accepted)))
  ORDER BY c.id FOR KEY SHARE;

  accepted := ARRAY(
    SELECT i.number
    FROM jsonb_to_recordset(items) AS i(number integer, conversation_id uuid, new_conversation boolean,
      contact_id uuid, new_contact boolean, reads_menus boolean, newest_menu uuid, answers uuid, typed boolean, poll uuid,
      voter text, chosen_before integer[])
    WHERE i.number = ANY (accepted)
      AND (i.new_contact OR i.contact_id IS NULL OR EXISTS (SELECT FROM contacts c WHERE c.id = i.contact_id))
      AND (NOT i.reads_menus OR i.newest_menu IS NOT DISTINCT FROM (
        SELECT m.message_id FROM menus m WHERE m.conversation_id = i.conversation_id AND m.sent_at IS NOT NULL
        ORDER BY m.sent_at DESC, m.message_id DESC LIMIT 1))
      AND (NOT i.typed OR EXISTS (
        SELECT FROM menus m WHERE m.message_id = i.answers AND m.answered_at IS NULL))
      AND (i.poll IS NULL OR i.chosen_before IS NOT DISTINCT FROM (
        SELECT w.chosen FROM poll_votes w WHERE w.message_id = i.poll AND w.voter = i.voter)));

  -- If another transaction created a name or conversation first, its ids stay.
  WITH to_create AS (
    SELECT DISTINCT i.account_id, i.name, i.contact_id
    FROM jsonb_to_recordset(items)
      AS i(number integer, account_id uuid, name text, contact_id uuid, new_contact boolean)
    WHERE i.new_contact AND i.number = ANY (accepted)
    ORDER BY i.account_id, i.name
  ), new_names AS (
    INSERT INTO contact_names (account_id, name, contact_id)
    SELECT w.account_id, w.name, w.contact_id FROM to_create w
    ON CONFLICT DO NOTHING RETURNING account_id, contact_id
  ), created AS (
    INSERT INTO contacts (id, account_id) SELECT n.contact_id, n.account_id FROM new_names n RETURNING id
  )
  SELECT ARRAY(
    SELECT i.number FROM jsonb_to_recordset(items) AS i(number integer, contact_id uuid, new_contact boolean)
    WHERE i.number = ANY (accepted) AND (NOT i.new_contact OR EXISTS (SELECT FROM created m WHERE m.id = i.contact_id)))
  INTO accepted;

  WITH to_create AS (
    SELECT DISTINCT i.conversation_id, i.instance_id, i.contact_id, i.group_id
    FROM jsonb_to_recordset(items)
      AS i(number integer, conversation_id uuid, instance_id uuid, contact_id uuid, group_id text,
        new_conversation boolean)
    WHERE i.new_conversation AND i.number = ANY (accepted)
    ORDER BY i.instance_id, i.contact_id, i.group_id
  ), created AS (
    INSERT INTO conversations (id, instance_id, contact_id, group_id)
    SELECT w.conversation_id, w.instance_id, w.contact_id, w.group_id FROM to_create w
    ON CONFLICT DO NOTHING RETURNING id
  )
  SELECT ARRAY(
    SELECT i.number FROM jsonb_to_recordset(items)
      AS i(number integer, conversation_id uuid, new_conversation boolean)
    WHERE i.number = ANY (accepted) AND CASE WHEN i.new_conversation
      THEN EXISTS (SELECT FROM created m WHERE m.id = i.conversation_id)
      ELSE EXISTS (SELECT FROM conversations v WHERE v.id = i.conversation_id) END)
  INTO accepted;

  WITH seen AS (
    INSERT INTO inbound_seen (conversation_id, participant, wa_message_id, message_id)
    SELECT i.conversation_id, COALESCE(i.participant, ''), i.wa_message_id, i.message_id
    FROM jsonb_to_recordset(items)
      AS i(number integer, conversation_id uuid, participant text, wa_message_id text, message_id uuid)
    WHERE i.number = ANY (accepted)
    ON CONFLICT DO NOTHING RETURNING message_id
  )
  SELECT array_agg(s.message_id) INTO inserted FROM seen s;

  INSERT INTO messages (id, account_id, instance_id, conversation_id, direction, "to", type, status, wa_message_id,
    participant, created_at, sent_at, delivered_at, updated_at)
  SELECT i.message_id, i.account_id, i.instance_id, i.conversation_id, 'inbound', i."to", i.type, 'delivered',
    i.wa_message_id, i.participant, i.created_at, i.at, i.created_at, i.created_at
  FROM jsonb_to_recordset(items)
    AS i(message_id uuid, account_id uuid, instance_id uuid, conversation_id uuid, "to" text, type text,
      wa_message_id text, participant text, created_at timestamptz, at timestamptz, has_row boolean)
  WHERE i.has_row AND i.message_id = ANY (inserted);

  UPDATE conversations v
  SET last_wrote_at = GREATEST(v.last_wrote_at, w.at),
    days = CASE WHEN v.days @> w.days THEN v.days ELSE gwk_merge_days(v.days, w.days) END
  FROM (
    SELECT i.conversation_id, max(i.at) FILTER (WHERE i.wrote) AS at,
      coalesce(array_agg(DISTINCT gwk_id_day(i.message_id)) FILTER (WHERE i.has_row), '{}') AS days
    FROM jsonb_to_recordset(items)
      AS i(conversation_id uuid, at timestamptz, wrote boolean, has_row boolean, message_id uuid)
    WHERE i.message_id = ANY (inserted)
    GROUP BY i.conversation_id
  ) AS w
  WHERE v.id = w.conversation_id AND (w.at IS NOT NULL OR NOT v.days @> w.days);

  UPDATE menus m SET answered_at = w.at
  FROM (
    SELECT i.answers, min(i.at) AS at
    FROM jsonb_to_recordset(items) AS i(answers uuid, at timestamptz, message_id uuid)
    WHERE i.answers IS NOT NULL AND i.message_id = ANY (inserted)
    GROUP BY i.answers
  ) AS w
  WHERE m.message_id = w.answers AND m.answered_at IS NULL;
  INSERT INTO poll_votes (message_id, voter, chosen)
  SELECT i.poll, i.voter, i.chosen
  FROM jsonb_to_recordset(items) AS i(poll uuid, voter text, chosen integer[], message_id uuid)
  WHERE i.poll IS NOT NULL AND i.message_id = ANY (inserted)
  ON CONFLICT (message_id, voter) DO UPDATE SET chosen = EXCLUDED.chosen;
  deletions := ARRAY(
    SELECT i.deletes FROM jsonb_to_recordset(items) AS i(deletes uuid, message_id uuid)
    WHERE i.deletes IS NOT NULL AND i.message_id = ANY (inserted));
  IF deletions <> '{}' THEN
    SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(deletions) AS s;
    UPDATE messages m SET deleted_for_all = true, version = m.version + 1, updated_at = now()
    WHERE m.id = ANY (deletions) AND m.id BETWEEN lowest AND highest AND NOT m.deleted_for_all;
  END IF;

  renamed := ARRAY(
    SELECT c.id FROM contacts c
    JOIN (SELECT DISTINCT i.contact_id, i.person
          FROM jsonb_to_recordset(items) AS i(contact_id uuid, person text, message_id uuid)
          WHERE i.person IS NOT NULL AND i.contact_id IS NOT NULL AND i.message_id = ANY (inserted)) AS p
      ON p.contact_id = c.id
    WHERE c.name IS DISTINCT FROM p.person
    ORDER BY c.id FOR NO KEY UPDATE OF c);
  UPDATE contacts c SET name = p.person
  FROM (
    SELECT DISTINCT ON (i.contact_id) i.contact_id, i.person
    FROM jsonb_to_recordset(items) AS i(contact_id uuid, person text, message_id uuid, at timestamptz)
    WHERE i.person IS NOT NULL AND i.contact_id = ANY (renamed) AND i.message_id = ANY (inserted)
    ORDER BY i.contact_id, i.at DESC
  ) AS p
  WHERE c.id = p.contact_id;

  PERFORM gwk_emit_items(events, inserted);

  RETURN QUERY
  SELECT i.number, CASE
    WHEN refusals[i.place] IS NOT NULL THEN refusals[i.place]
    WHEN i.number <> ALL (accepted) THEN 'retry'
    WHEN i.message_id = ANY (inserted) THEN 'written'
    ELSE 'duplicate' END
  FROM jsonb_to_recordset(items) AS i(number integer, place integer, message_id uuid);
END $$;

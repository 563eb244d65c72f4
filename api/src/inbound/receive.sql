-- Writes inbound messages with their events (as in gwk_update_messages), each message once. A caller without a holder
-- is the API itself.
-- Fields of an item (api/src/inbound/write.ts):
--   number: its place from 1, also in the arrays of callers and in the result.
--   has_row, wrote: it becomes a row of messages; its sender wrote.
--   from_me: from a device of the account. Its row is an outbound message that has left.
--   reads_menus, newest_menu: newest menu of the conversation that the decision used (NULL: none).
--   answers, typed: the menu that it answers; a typed answer needs an unanswered menu.
--   poll, voter, chosen_before, chosen: the vote, and the earlier vote that the decision used. voters: all names under
--   which the earlier vote may be stored; absent from the former release.
--   card: encrypted card for quotes of it or of the message that it edits, in base64.
--   edits, edit_event: the edited message and the event of the edit; the newest event counts.
--   deletes: the message that was deleted for everyone.
--   timer_s, timer_set_at: a setting of disappearing messages; the newest one counts.
--   lid, phone, username: names of the contact for a new conversation. lid_username: username of the LID `name` of a new
--   contact.
-- result: 'fenced', 'gone', 'written', 'duplicate', or 'retry' (a fact is stale, or another transaction created the
-- name or conversation; nothing is written).
CREATE OR REPLACE FUNCTION gwk_receive(instance_ids uuid[], epochs integer[], holders uuid[], items jsonb, events jsonb)
RETURNS TABLE (result text)
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
  edited uuid[];
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
    SELECT i.number FROM jsonb_to_recordset(items) AS i(number integer) WHERE refusals[i.number] IS NULL);

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
      voter text, voters text[], chosen_before integer[])
    WHERE i.number = ANY (accepted)
      AND (i.new_contact OR i.contact_id IS NULL OR EXISTS (SELECT FROM contacts c WHERE c.id = i.contact_id))
      AND (NOT i.reads_menus OR i.newest_menu IS NOT DISTINCT FROM (
        SELECT m.message_id FROM menus m WHERE m.conversation_id = i.conversation_id AND m.sent_at IS NOT NULL
        ORDER BY m.sent_at DESC, m.message_id DESC LIMIT 1))
      AND (NOT i.typed OR EXISTS (
        SELECT FROM menus m WHERE m.message_id = i.answers AND m.answered_at IS NULL))
      AND (i.poll IS NULL OR i.chosen_before IS NOT DISTINCT FROM (
        SELECT w.chosen FROM poll_votes w
        WHERE w.message_id = i.poll AND w.voter = ANY (COALESCE(i.voters, ARRAY[i.voter]))
        ORDER BY array_position(i.voters, w.voter) LIMIT 1)));

  -- If another transaction created a name or conversation first, its ids stay.
  WITH to_create AS (
    SELECT DISTINCT ON (i.account_id, i.name) i.account_id, i.name, i.contact_id, i.lid_username, i.at
    FROM jsonb_to_recordset(items)
      AS i(number integer, account_id uuid, name text, contact_id uuid, new_contact boolean, lid_username text,
        at timestamptz)
    WHERE i.new_contact AND i.number = ANY (accepted)
    ORDER BY i.account_id, i.name, i.number DESC
  ), new_names AS (
    INSERT INTO contact_names (account_id, name, contact_id, username, username_at)
    SELECT w.account_id, w.name, w.contact_id, w.lid_username, CASE WHEN w.lid_username IS NOT NULL THEN w.at END FROM to_create w
    ON CONFLICT DO NOTHING RETURNING account_id, contact_id
  ), created AS (
    INSERT INTO contacts (id, account_id) SELECT n.contact_id, n.account_id FROM new_names n RETURNING id
  )
  SELECT ARRAY(
    SELECT i.number FROM jsonb_to_recordset(items) AS i(number integer, contact_id uuid, new_contact boolean)
    WHERE i.number = ANY (accepted) AND (NOT i.new_contact OR EXISTS (SELECT FROM created m WHERE m.id = i.contact_id)))
  INTO accepted;

  WITH to_create AS (
    SELECT DISTINCT ON (i.instance_id, i.contact_id, i.group_id)
      i.conversation_id, i.instance_id, i.contact_id, i.group_id, i.lid, i.phone, i.username
    FROM jsonb_to_recordset(items)
      AS i(number integer, conversation_id uuid, instance_id uuid, contact_id uuid, group_id text, lid text, phone text,
        username text, new_conversation boolean)
    WHERE i.new_conversation AND i.number = ANY (accepted)
    ORDER BY i.instance_id, i.contact_id, i.group_id, i.phone IS NULL, i.lid IS NULL, i.number DESC
  ), created AS (
    INSERT INTO conversations (id, instance_id, contact_id, group_id, lid, phone, username)
    SELECT w.conversation_id, w.instance_id, w.contact_id, w.group_id, w.lid, w.phone, w.username FROM to_create w
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
    participant, list, by_phone, created_at, sent_at, delivered_at, updated_at)
  SELECT i.message_id, i.account_id, i.instance_id, i.conversation_id,
    CASE WHEN i.from_me THEN 'outbound' ELSE 'inbound' END, i."to", i.type,
    CASE WHEN i.from_me THEN 'sent' ELSE 'delivered' END, i.wa_message_id,
    CASE WHEN NOT i.from_me THEN i.participant END, i.list, coalesce(i.by_phone, false), i.created_at, i.at,
    CASE WHEN NOT i.from_me THEN i.created_at END, i.created_at
  FROM jsonb_to_recordset(items)
    AS i(message_id uuid, account_id uuid, instance_id uuid, conversation_id uuid, "to" text, type text,
      wa_message_id text, participant text, list text, by_phone boolean, created_at timestamptz, at timestamptz,
      has_row boolean, from_me boolean)
  WHERE i.has_row AND i.message_id = ANY (inserted);

  INSERT INTO message_cards (message_id, instance_id, card_sealed)
  SELECT i.message_id, i.instance_id, decode(i.card, 'base64')
  FROM jsonb_to_recordset(items) AS i(message_id uuid, instance_id uuid, has_row boolean, card text)
  WHERE i.card IS NOT NULL AND i.has_row AND i.message_id = ANY (inserted);

  UPDATE conversations v
  SET last_wrote_at = GREATEST(v.last_wrote_at, w.at),
    days = CASE WHEN v.days @> w.days THEN v.days ELSE gwk_merge_days(v.days, w.days) END,
    last_message_id = GREATEST(v.last_message_id, w.newest::uuid), unread = v.unread + w.received
  FROM (
    SELECT i.conversation_id, max(i.at) FILTER (WHERE i.wrote) AS at,
      max(i.message_id::text) FILTER (WHERE i.has_row) AS newest,
      count(*) FILTER (WHERE i.has_row AND NOT i.from_me)::integer AS received,
      coalesce(array_agg(DISTINCT gwk_id_day(i.message_id)) FILTER (WHERE i.has_row), '{}') AS days
    FROM jsonb_to_recordset(items)
      AS i(conversation_id uuid, at timestamptz, wrote boolean, has_row boolean, from_me boolean, message_id uuid)
    WHERE i.message_id = ANY (inserted)
    GROUP BY i.conversation_id
  ) AS w
  WHERE v.id = w.conversation_id AND (w.at IS NOT NULL OR w.newest IS NOT NULL);

  IF items @? '$[*].timer_set_at' THEN
    -- Settings of the same second count in the order of arrival.
    UPDATE conversations v SET timer_s = t.timer_s, timer_set_at = t.timer_set_at
    FROM (
      SELECT DISTINCT ON (i.conversation_id) i.conversation_id, i.timer_s, i.timer_set_at
      FROM jsonb_to_recordset(items)
        AS i(number integer, conversation_id uuid, timer_s integer, timer_set_at timestamptz, message_id uuid)
      WHERE i.timer_set_at IS NOT NULL AND i.message_id = ANY (inserted)
      ORDER BY i.conversation_id, i.timer_set_at DESC, i.number DESC
    ) AS t
    WHERE v.id = t.conversation_id AND (v.timer_set_at IS NULL OR v.timer_set_at <= t.timer_set_at)
      AND (v.timer_s, v.timer_set_at) IS DISTINCT FROM (t.timer_s, t.timer_set_at);
  END IF;

  UPDATE menus m SET answered_at = w.at
  FROM (
    SELECT i.answers, min(i.at) AS at
    FROM jsonb_to_recordset(items) AS i(answers uuid, at timestamptz, message_id uuid)
    WHERE i.answers IS NOT NULL AND i.message_id = ANY (inserted)
    GROUP BY i.answers
  ) AS w
  WHERE m.message_id = w.answers AND m.answered_at IS NULL;
  IF items @? '$[*].voters' THEN
    DELETE FROM poll_votes w
    USING jsonb_to_recordset(items) AS i(poll uuid, voter text, voters text[], message_id uuid)
    WHERE w.message_id = i.poll AND w.voter = ANY (i.voters) AND w.voter <> i.voter AND i.message_id = ANY (inserted);
  END IF;
  INSERT INTO poll_votes (message_id, voter, chosen)
  SELECT i.poll, i.voter, i.chosen
  FROM jsonb_to_recordset(items) AS i(poll uuid, voter text, chosen integer[], message_id uuid)
  WHERE i.poll IS NOT NULL AND i.message_id = ANY (inserted)
  ON CONFLICT (message_id, voter) DO UPDATE SET chosen = EXCLUDED.chosen;
  edited := ARRAY(
    SELECT i.edits FROM jsonb_to_recordset(items) AS i(edits uuid, message_id uuid)
    WHERE i.edits IS NOT NULL AND i.message_id = ANY (inserted));
  deletions := ARRAY(
    SELECT i.deletes FROM jsonb_to_recordset(items) AS i(deletes uuid, message_id uuid)
    WHERE i.deletes IS NOT NULL AND i.message_id = ANY (inserted));
  IF edited <> '{}' OR deletions <> '{}' THEN
    SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(edited || deletions) AS s;
    -- In the order in which gwk_update_messages locks messages.
    PERFORM FROM messages m
    WHERE m.id = ANY (edited || deletions) AND m.id BETWEEN lowest AND highest ORDER BY m.id FOR NO KEY UPDATE;
  END IF;
  IF edited <> '{}' THEN
    WITH changed AS (
      UPDATE messages m SET edit_event_id = e.edit_event
      FROM (
        SELECT DISTINCT ON (i.edits) i.edits, i.edit_event, i.card
        FROM jsonb_to_recordset(items) AS i(edits uuid, edit_event uuid, card text, message_id uuid)
        WHERE i.edits IS NOT NULL AND i.message_id = ANY (inserted)
        ORDER BY i.edits, i.edit_event DESC
      ) AS e
      WHERE m.id = e.edits AND m.id = ANY (edited) AND m.id BETWEEN lowest AND highest AND NOT m.deleted_for_all
        AND (m.edit_event_id IS NULL OR m.edit_event_id < e.edit_event)
      RETURNING m.id, e.card
    )
    UPDATE message_cards c SET card_sealed = decode(d.card, 'base64')
    FROM changed d WHERE c.message_id = d.id AND d.card IS NOT NULL;
  END IF;
  IF deletions <> '{}' THEN
    UPDATE messages m SET deleted_for_all = true, version = m.version + 1, updated_at = now()
    WHERE m.id = ANY (deletions) AND m.id BETWEEN lowest AND highest AND NOT m.deleted_for_all;
    DELETE FROM message_cards c WHERE c.message_id = ANY (deletions);
    -- Only content of messages that have left: an engine may still read the others.
    DELETE FROM message_contents k WHERE k.message_id = ANY (deletions) AND k.delete_at IS NOT NULL;
    DELETE FROM menus m WHERE m.message_id = ANY (deletions);
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

  PERFORM gwk_emit(events, inserted);

  RETURN QUERY
  SELECT CASE
    WHEN refusals[i.number] IS NOT NULL THEN refusals[i.number]
    WHEN i.number <> ALL (accepted) THEN 'retry'
    WHEN i.message_id = ANY (inserted) THEN 'written'
    ELSE 'duplicate' END
  FROM jsonb_to_recordset(items) AS i(number integer, message_id uuid)
  ORDER BY i.number;
END $$;

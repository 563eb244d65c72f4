-- Verifies the facts of each decision under locks, and writes the requests that pass. `written` is false for the others: a
-- fact is stale, a row is locked, or another transaction created the contact, conversation or key first. The API decides
-- those again. Without `skip_locked` a lock that is not free within 200 ms fails the batch (55P03). With it, locked rows cost
-- only their own requests.
CREATE OR REPLACE FUNCTION gwk_accept_write(
  batch jsonb, contents bytea[], body_hashes bytea[], responses bytea[], skip_locked boolean, OUT written boolean[]
) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET lock_timeout = '200ms'
AS $$
DECLARE
  -- The values of each request, by position. Each is an array in the text format of Postgres (api/src/messages/send/write.ts).
  b record;
  places integer[];
  -- Rows to lock: counters of instances whose limits are verified, and contacts without a conversation in the instance, so
  -- that an opt-out waits. A conversation to create matches no row.
  counter_ids uuid[];
  existing uuid[];
  lone_contacts uuid[];
  -- The locked rows and their values.
  counters uuid[];
  new_contact_totals bigint[];
  text_totals bigint[];
  found_conversations uuid[];
  conversation_contacts uuid[];
  conversations_counted boolean[];
  conversations_last_wrote timestamptz[];
  last_seqs bigint[];
  found_contacts uuid[];
  contact_accounts uuid[];
  -- Ids of created rows.
  created uuid[];
  -- Days of the messages, ascending.
  batch_days integer[];
  now_at timestamptz;
BEGIN
  SELECT * INTO b FROM jsonb_to_record(batch) AS r(
    message_ids uuid[], account_ids uuid[], account_versions xid[], instance_ids uuid[], instance_versions xid[],
    conversation_ids uuid[], new_conversations boolean[], contact_ids uuid[], new_contacts boolean[], names text[],
    counted boolean[], last_wrote double precision[], recipients text[], types text[], prepared boolean[],
    wa_message_ids text[], created_at double precision[], offline_ms bigint[], releases timestamptz[], record_ids uuid[],
    -- For a part of another message: the id of that one. They are written together or not at all.
    whole_ids uuid[],
    -- Headroom left by the earlier requests of the batch; NULL: this limit is not verified. `mass_texts`: a text is within
    -- its limit while the instance has sent at most this many texts.
    new_contact_headroom integer[], mass_headroom integer[], mass_texts bigint[], mass_minutes integer[], fingerprints uuid[]);
  places := ARRAY(SELECT generate_series(1, cardinality(b.message_ids)));
  counter_ids := ARRAY(
    SELECT b.instance_ids[i] FROM unnest(places) AS i
    WHERE b.new_contact_headroom[i] IS NOT NULL OR b.fingerprints[i] IS NOT NULL);
  existing := b.conversation_ids;
  lone_contacts := ARRAY(
    SELECT b.contact_ids[i] FROM unnest(places) AS i WHERE b.new_conversations[i] AND NOT b.new_contacts[i]);
  IF skip_locked THEN
    -- Still waits for a transaction that creates the same name, conversation or key.
    PERFORM set_config('lock_timeout', '0', true);
    counter_ids := ARRAY(
      SELECT v.instance_id FROM instance_counters v
      WHERE v.instance_id = ANY (counter_ids) ORDER BY v.instance_id FOR NO KEY UPDATE SKIP LOCKED);
    existing := ARRAY(
      SELECT c.id FROM conversations c WHERE c.id = ANY (existing) ORDER BY c.id FOR NO KEY UPDATE SKIP LOCKED);
    lone_contacts := ARRAY(
      SELECT c.id FROM contacts c WHERE c.id = ANY (lone_contacts) ORDER BY c.id FOR KEY SHARE SKIP LOCKED);
  END IF;
  SELECT array_agg(l.instance_id), array_agg(l.new_contacts), array_agg(l.texts)
  INTO counters, new_contact_totals, text_totals
  FROM (
    SELECT v.instance_id, v.new_contacts, v.texts FROM instance_counters v
    WHERE v.instance_id = ANY (counter_ids) ORDER BY v.instance_id FOR NO KEY UPDATE
  ) AS l;
  SELECT array_agg(l.id), array_agg(l.contact_id), array_agg(l.first_sent_at IS NOT NULL), array_agg(l.last_wrote_at),
    array_agg(l.last_seq)
  INTO found_conversations, conversation_contacts, conversations_counted, conversations_last_wrote, last_seqs
  FROM (
    SELECT c.id, c.contact_id, c.first_sent_at, c.last_wrote_at, c.last_seq FROM conversations c
    WHERE c.id = ANY (existing) ORDER BY c.id FOR NO KEY UPDATE
  ) AS l;
  IF lone_contacts <> '{}' THEN
    SELECT array_agg(l.id), array_agg(l.account_id) INTO found_contacts, contact_accounts
    FROM (
      SELECT c.id, c.account_id FROM contacts c WHERE c.id = ANY (lone_contacts) ORDER BY c.id FOR KEY SHARE
    ) AS l;
  END IF;

  -- From here on no other transaction changes these counters, or accepts or opts out in these conversations. Verified:
  -- versions of the account and instance rows, opt-outs, contact and state of the conversation, the account of a contact, and
  -- headroom of the limits.
  now_at := clock_timestamp();
  SELECT array_agg(
      (SELECT v.xmin = b.instance_versions[q.i] FROM instances v WHERE v.id = b.instance_ids[q.i] LIMIT 1) IS TRUE
      AND (SELECT v.xmin = b.account_versions[q.i] FROM accounts v WHERE v.id = b.account_ids[q.i] LIMIT 1) IS TRUE
      AND ((b.contact_ids[q.i] = ANY (q.opted_out)) IS NOT TRUE OR NOT gwk_opted_out(b.contact_ids[q.i], b.instance_ids[q.i]))
      AND CASE WHEN b.new_conversations[q.i]
        THEN b.contact_ids[q.i] IS NULL OR b.new_contacts[q.i]
          OR (contact_accounts[array_position(found_contacts, b.contact_ids[q.i])] = b.account_ids[q.i]) IS TRUE
        ELSE q.conversation IS NOT NULL AND conversation_contacts[q.conversation] IS NOT DISTINCT FROM b.contact_ids[q.i]
          AND conversations_counted[q.conversation] = b.counted[q.i]
          AND conversations_last_wrote[q.conversation] IS NOT DISTINCT FROM to_timestamp(b.last_wrote[q.i] / 1000) END
      AND (q.counter IS NOT NULL OR (b.new_contact_headroom[q.i] IS NULL AND b.fingerprints[q.i] IS NULL))
      AND (b.new_contact_headroom[q.i] IS NULL OR b.new_contact_headroom[q.i] >= new_contact_totals[q.counter] + 1 - coalesce((
        SELECT v.first_sent_no FROM conversations v
        WHERE v.instance_id = b.instance_ids[q.i] AND v.first_sent_at > now_at - interval '24 hours'
        ORDER BY v.first_sent_at, v.first_sent_no LIMIT 1), new_contact_totals[q.counter] + 1))
      AND (b.mass_headroom[q.i] IS NULL OR b.mass_texts[q.i] >= text_totals[q.counter] OR b.mass_headroom[q.i] >= (
        SELECT count(*) FROM mass_sends v
        WHERE v.fingerprint = b.fingerprints[q.i] AND v.at > now_at - make_interval(mins => b.mass_minutes[q.i]))))
  INTO written
  FROM (
    SELECT i, array_position(found_conversations, b.conversation_ids[i]) AS conversation,
      array_position(counters, b.instance_ids[i]) AS counter,
      ARRAY(SELECT o.contact_id FROM opt_outs o WHERE o.contact_id = ANY (b.contact_ids)) AS opted_out
    FROM (SELECT unnest(places) AS i) AS each OFFSET 0
  ) AS q;

  IF true = ANY (b.new_contacts) THEN
    WITH named AS (
      INSERT INTO contact_names (account_id, name, contact_id)
      SELECT DISTINCT b.account_ids[i], b.names[i], b.contact_ids[i]
      FROM (SELECT unnest(places) AS i) AS each
      WHERE b.new_contacts[i] AND written[i]
      ORDER BY 1, 2
      ON CONFLICT DO NOTHING RETURNING contact_names.account_id, contact_names.contact_id
    ), added AS (
      INSERT INTO contacts (id, account_id) SELECT n.contact_id, n.account_id FROM named n RETURNING contacts.id
    )
    SELECT array_agg(a.id) INTO created FROM added a;
    written := ARRAY(
      SELECT written[i] AND (NOT b.new_contacts[i] OR (b.contact_ids[i] = ANY (created)) IS TRUE) FROM unnest(places) AS i);
  END IF;
  IF true = ANY (b.new_conversations) THEN
    WITH added AS (
      INSERT INTO conversations AS c (id, instance_id, contact_id, group_id, lid)
      SELECT DISTINCT b.conversation_ids[i], b.instance_ids[i], b.contact_ids[i],
        CASE WHEN b.contact_ids[i] IS NULL THEN b.names[i] END,
        CASE WHEN b.contact_ids[i] IS NOT NULL AND position('@' IN b.names[i]) > 0 THEN b.names[i] END
      FROM (SELECT unnest(places) AS i) AS each
      WHERE b.new_conversations[i] AND written[i]
      ORDER BY 2, 3, 4
      ON CONFLICT DO NOTHING RETURNING c.id
    )
    SELECT array_agg(a.id) INTO created FROM added a;
    written := ARRAY(
      SELECT written[i] AND (NOT b.new_conversations[i] OR (b.conversation_ids[i] = ANY (created)) IS TRUE)
      FROM unnest(places) AS i);
  END IF;
  IF array_remove(b.whole_ids, NULL) <> '{}' THEN
    written := ARRAY(
      SELECT bool_and(written[i]) OVER (PARTITION BY coalesce(b.whole_ids[i], b.message_ids[i]))
      FROM unnest(places) AS i ORDER BY i);
  END IF;
  -- Keys come last: a key without its message would replay a message that does not exist.
  IF b.record_ids <> '{}' THEN
    WITH added AS (
      INSERT INTO idempotency_records AS r
        (id, account_id, body_hash, resource_id, status, response_sealed, expires_at)
      SELECT b.record_ids[i], CASE WHEN responses[i] IS NOT NULL THEN b.account_ids[i] END, body_hashes[i],
        b.message_ids[i], 202, responses[i], now_at + interval '24 hours'
      FROM (SELECT unnest(places) AS i) AS each
      WHERE b.record_ids[i] IS NOT NULL AND b.whole_ids[i] IS NULL AND written[i]
      ORDER BY b.record_ids[i]
      ON CONFLICT (id) DO UPDATE
      SET account_id = excluded.account_id, instance_id = NULL, body_hash = excluded.body_hash,
        resource_id = excluded.resource_id, status = excluded.status, response_sealed = excluded.response_sealed,
        locked_until = NULL, expires_at = excluded.expires_at
      WHERE r.expires_at <= now_at
      RETURNING r.id
    )
    SELECT array_agg(a.id) INTO created FROM added a;
    written := ARRAY(
      SELECT written[i] AND (b.record_ids[i] IS NULL OR (b.record_ids[i] = ANY (created)) IS TRUE) FROM unnest(places) AS i);
  END IF;
  IF true <> ALL (written) THEN
    RETURN;
  END IF;

  batch_days := ARRAY(SELECT DISTINCT gwk_id_day(m) FROM unnest(b.message_ids) AS m ORDER BY 1);
  WITH q AS MATERIALIZED (
    -- A scheduled message takes no sequence number yet.
    SELECT i, b.conversation_ids[i] AS chat, b.releases[i] IS NULL AS queued,
      count(*) FILTER (WHERE b.releases[i] IS NULL) OVER (PARTITION BY b.conversation_ids[i] ORDER BY i) AS rank
    FROM (SELECT unnest(places) AS i) AS each WHERE written[i]
  ), chats AS (
    -- Each conversation once. A new contact takes the next number of its instance.
    SELECT g.*, CASE WHEN g.is_new THEN
      new_contact_totals[array_position(counters, b.instance_ids[g.first])]
        + count(*) FILTER (WHERE g.is_new) OVER (PARTITION BY b.instance_ids[g.first] ORDER BY g.first) END AS new_contact_no
    FROM (
      SELECT q.chat AS id, min(q.i) AS first, max(q.rank) AS seqs, max(b.message_ids[q.i]::text)::uuid AS newest,
        bool_or(b.new_contact_headroom[q.i] IS NOT NULL) AS is_new
      FROM q GROUP BY q.chat
    ) AS g
  ), counted AS (
    UPDATE instance_counters l SET new_contacts = l.new_contacts + s.new_contacts, texts = l.texts + s.texts
    FROM (
      SELECT b.instance_ids[q.i] AS id, count(b.fingerprints[q.i]) AS texts,
        count(DISTINCT q.chat) FILTER (WHERE b.new_contact_headroom[q.i] IS NOT NULL) AS new_contacts
      FROM q GROUP BY 1
    ) AS s
    WHERE l.instance_id = s.id AND s.texts + s.new_contacts > 0
  ), advanced AS (
    UPDATE conversations c
    SET last_seq = c.last_seq + h.seqs,
      first_sent_at = CASE WHEN h.new_contact_no IS NULL THEN c.first_sent_at ELSE now_at END,
      first_sent_no = coalesce(h.new_contact_no, c.first_sent_no),
      days = CASE WHEN c.days @> batch_days THEN c.days ELSE gwk_merge_days(c.days, batch_days) END,
      last_message_id = GREATEST(c.last_message_id, h.newest)
    FROM chats h WHERE c.id = h.id
  ), queue AS (
    INSERT INTO outbox (message_id, instance_id, conversation_id, seq, state, head, head_since, prepared, release_at,
      offline_ms_at_start, created_at)
    SELECT b.message_ids[e.i], b.instance_ids[e.i], e.chat,
      CASE WHEN e.queued THEN e.rank + coalesce(last_seqs[array_position(found_conversations, e.chat)], 0) END,
      CASE WHEN e.queued THEN 'waiting' ELSE 'scheduled' END, e.is_head, CASE WHEN e.is_head THEN now_at END,
      b.prepared[e.i], b.releases[e.i], b.offline_ms[e.i], now_at
    FROM (
      SELECT q.*, q.queued AND q.rank = 1 AND (b.new_conversations[q.i] OR (
        SELECT true FROM outbox o WHERE o.conversation_id = q.chat AND o.head) IS NULL) AS is_head
      FROM q
    ) AS e
  ), sealed AS (
    INSERT INTO message_contents (message_id, instance_id, content_sealed)
    SELECT b.message_ids[q.i], b.instance_ids[q.i], contents[q.i] FROM q
  ), texts AS (
    INSERT INTO mass_sends (fingerprint, contact_id, at)
    SELECT DISTINCT b.fingerprints[q.i], b.contact_ids[q.i], now_at FROM q
    WHERE b.fingerprints[q.i] IS NOT NULL
    ORDER BY 1, 2
    ON CONFLICT (fingerprint, contact_id) DO UPDATE SET at = excluded.at
  )
  INSERT INTO messages (id, account_id, instance_id, conversation_id, direction, "to", type, status, wa_message_id,
    created_at, scheduled_for, updated_at)
  SELECT b.message_ids[q.i], b.account_ids[q.i], b.instance_ids[q.i], q.chat, 'outbound', b.recipients[q.i], b.types[q.i],
    'queued', b.wa_message_ids[q.i], to_timestamp(b.created_at[q.i] / 1000), b.releases[q.i],
    to_timestamp(b.created_at[q.i] / 1000)
  FROM q;
END $$;

-- Verifies the facts of each decision under locks, and writes the requests that pass. `written` is false if a fact is
-- stale or the key is taken; the API decides that request again. It is NULL if another transaction created a name,
-- conversation or key first; nothing is written, and the API calls again with `skip_locked`. Without `skip_locked` a
-- locked row fails the batch after 200 ms (55P03). With it, locked rows and conflicts cost only their own requests.
CREATE OR REPLACE FUNCTION gwk_accept_write(
  -- Each value is an array or number in the text format of Postgres (api/src/messages/send/write.ts).
  batch jsonb, contents bytea[], body_hashes bytea[], responses bytea[], skip_locked boolean,
  -- `text_counts`: the counts used; `text_totals`: `texts` of each of `counters` before this batch.
  OUT written boolean[], OUT text_counts integer[], OUT counters uuid[], OUT text_totals bigint[],
  -- Messages of earlier requests with the same key and body, whose responses can be rebuilt.
  OUT originals uuid[]
) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET lock_timeout = '200ms'
AS $$
DECLARE
  places integer[] := batch->>'places';
  message_ids uuid[] := batch->>'message_ids';
  -- `seen_*`: distinct rows that decisions used; `*_places`: each request's position among them.
  instance_ids uuid[] := batch->>'instance_ids';
  instance_places integer[] := batch->>'instance_places';
  seen_instances uuid[] := batch->>'seen_instances';
  seen_instance_versions xid[] := batch->>'seen_instance_versions';
  account_places integer[] := batch->>'account_places';
  seen_accounts uuid[] := batch->>'seen_accounts';
  seen_account_versions xid[] := batch->>'seen_account_versions';
  conversation_ids uuid[] := batch->>'conversation_ids';
  new_conversations boolean[] := batch->>'new_conversations';
  contact_ids uuid[] := batch->>'contact_ids';
  new_contacts boolean[] := batch->>'new_contacts';
  names text[] := batch->>'names';
  counted boolean[] := batch->>'counted';
  last_wrote double precision[] := batch->>'last_wrote';
  recipients text[] := batch->>'recipients';
  types text[] := batch->>'types';
  wa_message_ids text[] := batch->>'wa_message_ids';
  created double precision[] := batch->>'created';
  offline_ms bigint[] := batch->>'offline_ms';
  releases timestamptz[] := batch->>'releases';
  record_ids uuid[] := batch->>'record_ids';
  -- Limits are set if the contact is not counted yet. Ranks: position among the contacts that the batch adds.
  new_contact_limits integer[] := batch->>'new_contact_limits';
  new_contact_ranks integer[] := batch->>'new_contact_ranks';
  fingerprints uuid[] := batch->>'fingerprints';
  mass_limits integer[] := batch->>'mass_limits';
  mass_ranks integer[] := batch->>'mass_ranks';
  mass_minutes integer[] := batch->>'mass_minutes';
  -- `mass_counts`: upper bound of the contacts reached when the instance's `texts` was `mass_text_totals`.
  -- `unprepared`: messages that the worker must prepare before a claim.
  mass_counts integer[] := batch->>'mass_counts';
  mass_text_totals bigint[] := batch->>'mass_text_totals';
  unprepared uuid[] := batch->>'unprepared';
  -- Rows to lock, each sorted.
  locked_counters uuid[] := batch->>'locked_counters';
  locked_conversations uuid[] := batch->>'locked_conversations';
  locked_contacts uuid[] := batch->>'locked_contacts';
  -- `ranks`: sequence numbers that the batch takes in the request's conversation, up to and including the request.
  -- `chats`: each conversation once, with its first request, the sequence numbers it takes, and its number among the
  -- new contacts of its instance (0: not new). These assume that all requests are written.
  ranks integer[] := batch->>'ranks';
  chats uuid[] := batch->>'chats';
  chat_first_places integer[] := batch->>'chat_first_places';
  chat_seq_counts integer[] := batch->>'chat_seq_counts';
  chat_new_contact_numbers integer[] := batch->>'chat_new_contact_numbers';
  -- Added to `locked_counters`. `added_texts` may be too high, never too low. `group_days`: days of all ids, ascending.
  added_new_contacts integer[] := batch->>'added_new_contacts';
  added_texts integer[] := batch->>'added_texts';
  group_days integer[] := batch->>'group_days';
  new_contact_count integer := batch->>'new_contact_count';
  new_conversation_count integer := batch->>'new_conversation_count';
  new_key_count integer := batch->>'new_key_count';
  counter_ids uuid[] := locked_counters;
  -- New contacts that each of `counters` has counted.
  new_contact_totals bigint[];
  found_conversations uuid[];
  conversation_contacts uuid[];
  conversations_counted boolean[];
  conversations_last_wrote timestamptz[];
  -- Last sequence number of each of `found_conversations`.
  last_seqs bigint[];
  -- Existing contacts of conversations to create, and their accounts.
  found_contacts uuid[];
  found_contact_accounts uuid[];
  -- Keys of earlier requests. The message is NULL if its response is stored.
  key_ids uuid[];
  key_hashes bytea[];
  key_messages uuid[];
  inserted integer;
  now_at timestamptz;
BEGIN
  -- The locks are taken in the block that writes. A row locked by the transaction and changed by its subtransaction
  -- would need a multixact.
  BEGIN
    IF skip_locked THEN
      -- Still waits for a transaction that creates the same name or key.
      PERFORM set_config('lock_timeout', '0', true);
      counter_ids := ARRAY(
        SELECT v.instance_id FROM instance_counters v
        WHERE v.instance_id = ANY (locked_counters) ORDER BY v.instance_id FOR NO KEY UPDATE SKIP LOCKED);
      locked_conversations := ARRAY(
        SELECT c.id FROM conversations c
        WHERE c.id = ANY (locked_conversations) ORDER BY c.id FOR NO KEY UPDATE SKIP LOCKED);
      locked_contacts := ARRAY(
        SELECT c.id FROM contacts c WHERE c.id = ANY (locked_contacts) ORDER BY c.id FOR KEY SHARE SKIP LOCKED);
    END IF;
    IF counter_ids <> '{}' THEN
      SELECT array_agg(l.instance_id), array_agg(l.new_contacts), array_agg(l.texts)
      INTO counters, new_contact_totals, text_totals
      FROM (
        SELECT v.instance_id, v.new_contacts, v.texts FROM instance_counters v
        WHERE v.instance_id = ANY (counter_ids) ORDER BY v.instance_id FOR NO KEY UPDATE
      ) AS l;
    END IF;
    SELECT array_agg(l.id), array_agg(l.contact_id), array_agg(l.first_sent_at IS NOT NULL), array_agg(l.last_wrote_at),
      array_agg(l.last_seq)
    INTO found_conversations, conversation_contacts, conversations_counted, conversations_last_wrote, last_seqs
    FROM (
      SELECT c.id, c.contact_id, c.first_sent_at, c.last_wrote_at, c.last_seq FROM conversations c
      WHERE c.id = ANY (locked_conversations) ORDER BY c.id FOR NO KEY UPDATE
    ) AS l;
    -- A contact without a conversation in this instance is locked itself, so that an opt-out waits.
    IF locked_contacts <> '{}' THEN
      SELECT array_agg(l.id), array_agg(l.account_id) INTO found_contacts, found_contact_accounts
      FROM (
        SELECT c.id, c.account_id FROM contacts c WHERE c.id = ANY (locked_contacts) ORDER BY c.id FOR KEY SHARE
      ) AS l;
    END IF;

    -- From here on no other transaction changes these counters, or accepts or opts out in these conversations.
    -- Verified: xmin of the account and instance rows, contact and state of the conversation, the account of a contact,
    -- opt-outs, and headroom of the limits.
    now_at := clock_timestamp();
    SELECT array_agg(v.id), array_agg(v.body_hash), array_agg(CASE WHEN v.response_sealed IS NULL THEN v.resource_id END)
    INTO key_ids, key_hashes, key_messages
    FROM idempotency_records v WHERE v.id = ANY (record_ids) AND v.expires_at > now_at;
    SELECT coalesce(array_agg(
        (mass_limits[q.i] IS NULL OR mass_limits[q.i] >= mass_ranks[q.i] + q.text_count)
        AND (q.counter_place IS NOT NULL OR (new_contact_limits[q.i] IS NULL AND fingerprints[q.i] IS NULL))
        AND (record_ids[q.i] = ANY (key_ids)) IS NOT TRUE AND q.instance_place <> ALL (q.stale_instances) AND q.account_place <> ALL (q.stale_accounts)
        AND ((contact_ids[q.i] = ANY (q.opted_out)) IS NOT TRUE OR NOT gwk_opted_out(contact_ids[q.i], instance_ids[q.i]))
        AND CASE WHEN new_conversations[q.i]
          THEN contact_ids[q.i] IS NULL OR new_contacts[q.i]
            OR (found_contact_accounts[array_position(found_contacts, contact_ids[q.i])]
              = seen_accounts[q.account_place]) IS TRUE
          ELSE q.conversation_place IS NOT NULL
            AND conversation_contacts[q.conversation_place] IS NOT DISTINCT FROM contact_ids[q.i]
            AND conversations_counted[q.conversation_place] = counted[q.i]
            AND conversations_last_wrote[q.conversation_place]
              IS NOT DISTINCT FROM to_timestamp(last_wrote[q.i] / 1000) END
        AND (new_contact_limits[q.i] IS NULL OR (
          new_contact_limits[q.i] >= new_contact_ranks[q.i] + new_contact_totals[q.counter_place] + 1 - coalesce((
            SELECT v.first_sent_no FROM conversations v
            WHERE v.instance_id = instance_ids[q.i] AND v.first_sent_at > now_at - interval '24 hours'
            ORDER BY v.first_sent_at, v.first_sent_no LIMIT 1), new_contact_totals[q.counter_place] + 1)) IS TRUE)), '{}'),
      coalesce(array_agg(q.text_count), '{}'),
      array_agg(CASE WHEN q.account_place <> ALL (q.stale_accounts)
          AND key_hashes[array_position(key_ids, record_ids[q.i])] = body_hashes[q.i]
        THEN key_messages[array_position(key_ids, record_ids[q.i])] END)
    INTO written, text_counts, originals
    FROM (
      -- The cached count plus the texts since is an upper bound. Rows are counted only if it reaches the limit.
      SELECT s.*, CASE
          WHEN mass_limits[s.i] IS NULL THEN NULL
          WHEN s.new_texts >= 0 AND mass_limits[s.i] >= mass_ranks[s.i] + mass_counts[s.i] + s.new_texts
            THEN mass_counts[s.i] + s.new_texts
          ELSE (
            SELECT count(*) FROM mass_sends v
            WHERE v.fingerprint = fingerprints[s.i]
              AND v.at > now_at - make_interval(mins => mass_minutes[s.i])) END AS text_count
      FROM (
        -- `new_texts`: texts since the cached count. Negative after a restore of the database.
        SELECT p.*, text_totals[p.counter_place] - mass_text_totals[p.i] AS new_texts
        FROM (
          SELECT i, instance_places[i] AS instance_place, account_places[i] AS account_place,
            array_position(found_conversations, conversation_ids[i]) AS conversation_place,
            array_position(counters, instance_ids[i]) AS counter_place,
            -- Positions of seen rows that have changed.
            ARRAY(
              SELECT k FROM (SELECT generate_series(1, cardinality(seen_instances)) AS k) AS x
              WHERE (SELECT v.xmin = seen_instance_versions[k] FROM instances v WHERE v.id = seen_instances[k]) IS NOT TRUE
            ) AS stale_instances,
            ARRAY(
              SELECT k FROM (SELECT generate_series(1, cardinality(seen_accounts)) AS k) AS x
              WHERE (SELECT v.xmin = seen_account_versions[k] FROM accounts v WHERE v.id = seen_accounts[k]) IS NOT TRUE
            ) AS stale_accounts,
            ARRAY(SELECT o.contact_id FROM opt_outs o WHERE o.contact_id = ANY (contact_ids)) AS opted_out
          FROM (SELECT unnest(places) AS i) AS each
          OFFSET 0
        ) AS p OFFSET 0
      ) AS s OFFSET 0
    ) AS q;

    IF (true = ANY (written)) IS NOT TRUE THEN
      -- No text was counted, so the totals are not returned.
      counters := NULL;
      RETURN;
    END IF;

    IF skip_locked THEN
      -- Lost conflicts are searched only if fewer rows were inserted than expected.
      IF new_contact_count > 0 THEN
        WITH named AS (
          INSERT INTO contact_names (account_id, name, contact_id)
          SELECT DISTINCT seen_accounts[account_places[i]], names[i], contact_ids[i]
          FROM unnest(places) AS i
          WHERE new_contacts[i] AND written[i]
          ORDER BY 1, 2
          ON CONFLICT DO NOTHING RETURNING contact_names.account_id, contact_names.contact_id
        )
        INSERT INTO contacts (id, account_id) SELECT n.contact_id, n.account_id FROM named n;
        GET DIAGNOSTICS inserted = ROW_COUNT;
        IF inserted < new_contact_count THEN
          written := ARRAY(
            SELECT written[i]
              AND (NOT new_contacts[i] OR (SELECT true FROM contacts c WHERE c.id = contact_ids[i] LIMIT 1) IS TRUE)
            FROM unnest(places) AS i);
        END IF;
      END IF;
      IF new_conversation_count > 0 THEN
        INSERT INTO conversations (id, instance_id, contact_id, group_id, lid)
        SELECT DISTINCT conversation_ids[i], instance_ids[i], contact_ids[i], CASE WHEN contact_ids[i] IS NULL THEN names[i] END,
          CASE WHEN contact_ids[i] IS NOT NULL AND position('@' IN names[i]) > 0 THEN names[i] END
        FROM unnest(places) AS i
        WHERE new_conversations[i] AND written[i]
        ORDER BY 2, 3, 4
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS inserted = ROW_COUNT;
        IF inserted < new_conversation_count THEN
          written := ARRAY(
            SELECT written[i] AND (NOT new_conversations[i]
              OR (SELECT true FROM conversations c WHERE c.id = conversation_ids[i] LIMIT 1) IS TRUE)
            FROM unnest(places) AS i);
        END IF;
      END IF;
      IF new_key_count > 0 THEN
        INSERT INTO idempotency_records AS r
          (id, account_id, body_hash, resource_id, status, response_sealed, expires_at)
        SELECT record_ids[i], CASE WHEN responses[i] IS NOT NULL THEN seen_accounts[account_places[i]] END, body_hashes[i],
          message_ids[i], 202, responses[i], now_at + interval '24 hours'
        FROM unnest(places) AS i
        WHERE record_ids[i] IS NOT NULL AND written[i]
        ORDER BY record_ids[i]
        ON CONFLICT (id) DO UPDATE
        SET account_id = excluded.account_id, instance_id = NULL, body_hash = excluded.body_hash,
          resource_id = excluded.resource_id, status = excluded.status, response_sealed = excluded.response_sealed,
          locked_until = NULL, expires_at = excluded.expires_at
        WHERE r.expires_at <= now_at;
        GET DIAGNOSTICS inserted = ROW_COUNT;
        IF inserted < new_key_count THEN
          written := ARRAY(
            SELECT written[i] AND (record_ids[i] IS NULL OR (
              SELECT r.resource_id = message_ids[i] FROM idempotency_records r WHERE r.id = record_ids[i] LIMIT 1) IS TRUE)
            FROM unnest(places) AS i);
        END IF;
      END IF;
    END IF;

    -- Some requests are not written: the sums of the others.
    IF false = ANY (written) THEN
      ranks := ARRAY(
        SELECT count(*) FILTER (WHERE written[i] AND releases[i] IS NULL) OVER (PARTITION BY conversation_ids[i] ORDER BY i)
        FROM unnest(places) AS i
        ORDER BY i);
      SELECT coalesce(array_agg(n.id), '{}'), array_agg(n.first), array_agg(n.amount), array_agg(n.number)
      INTO chats, chat_first_places, chat_seq_counts, chat_new_contact_numbers
      FROM (
        SELECT g.*, CASE WHEN g.is_new
          THEN count(*) FILTER (WHERE g.is_new) OVER (PARTITION BY instance_ids[g.first] ORDER BY g.first) ELSE 0 END AS number
        FROM (
          SELECT conversation_ids[i] AS id, min(i) AS first, count(*) FILTER (WHERE releases[i] IS NULL) AS amount,
            bool_or(new_contact_limits[i] IS NOT NULL) AS is_new
          FROM unnest(places) AS i WHERE written[i] GROUP BY conversation_ids[i]
        ) AS g
      ) AS n;
      added_new_contacts := ARRAY(
        SELECT (
          SELECT count(*) FROM unnest(chat_first_places, chat_new_contact_numbers) AS n(first, number)
          WHERE n.number > 0 AND instance_ids[n.first] = l.id)
        FROM unnest(locked_counters) WITH ORDINALITY AS l(id, place)
        ORDER BY l.place);
    END IF;

    -- Plain inserts, without a conflict check.
    IF new_contact_count > 0 AND NOT skip_locked THEN
      WITH named AS (
        INSERT INTO contact_names (account_id, name, contact_id)
        SELECT DISTINCT seen_accounts[account_places[i]], names[i], contact_ids[i]
        FROM (SELECT unnest(places) AS i) AS each
        WHERE new_contacts[i] AND written[i]
        ORDER BY 1, 2
        RETURNING contact_names.account_id, contact_names.contact_id
      )
      INSERT INTO contacts (id, account_id) SELECT n.contact_id, n.account_id FROM named n;
    END IF;
    IF new_conversation_count > 0 AND NOT skip_locked THEN
      INSERT INTO conversations (id, instance_id, contact_id, group_id, lid, last_seq, first_sent_at, first_sent_no, days)
      SELECT chats[k], instance_ids[chat_first_places[k]], contact_ids[chat_first_places[k]],
        CASE WHEN contact_ids[chat_first_places[k]] IS NULL THEN names[chat_first_places[k]] END,
        CASE WHEN contact_ids[chat_first_places[k]] IS NOT NULL AND position('@' IN names[chat_first_places[k]]) > 0
          THEN names[chat_first_places[k]] END,
        chat_seq_counts[k], CASE WHEN chat_new_contact_numbers[k] > 0 THEN now_at END,
        CASE WHEN chat_new_contact_numbers[k] > 0
          THEN new_contact_totals[array_position(counters, instance_ids[chat_first_places[k]])]
            + chat_new_contact_numbers[k] END,
        group_days
      FROM (SELECT unnest(places) AS k) AS each
      WHERE new_conversations[chat_first_places[k]]
      ORDER BY 2, 3, 4;
    END IF;

    WITH stored_keys AS (
      INSERT INTO idempotency_records
        (id, account_id, body_hash, resource_id, status, response_sealed, expires_at)
      SELECT record_ids[i], CASE WHEN responses[i] IS NOT NULL THEN seen_accounts[account_places[i]] END, body_hashes[i],
        message_ids[i], 202, responses[i], now_at + interval '24 hours'
      FROM (SELECT unnest(places) AS i) AS each
      WHERE record_ids[i] IS NOT NULL AND written[i] AND NOT skip_locked
      ORDER BY record_ids[i]
    ), counted AS (
      -- A contact who never wrote takes the next number of the instance.
      UPDATE instance_counters l
      SET new_contacts = l.new_contacts + added_new_contacts[k], texts = l.texts + added_texts[k]
      FROM (SELECT unnest(places) AS k) AS each
      WHERE l.instance_id = locked_counters[k] AND l.instance_id = ANY (counters)
    ), advanced AS (
      UPDATE conversations c
      SET last_seq = c.last_seq + chat_seq_counts[k],
        first_sent_at = CASE WHEN chat_new_contact_numbers[k] > 0 THEN now_at ELSE c.first_sent_at END,
        first_sent_no = CASE WHEN chat_new_contact_numbers[k] > 0
          THEN new_contact_totals[array_position(counters, c.instance_id)] + chat_new_contact_numbers[k]
          ELSE c.first_sent_no END,
        days = CASE WHEN c.days @> group_days THEN c.days ELSE gwk_merge_days(c.days, group_days) END
      FROM (SELECT unnest(places) AS k) AS each
      WHERE c.id = chats[k] AND (skip_locked OR NOT new_conversations[chat_first_places[k]])
    ), queued AS (
      INSERT INTO outbox (message_id, instance_id, conversation_id, seq, state, head, head_since, prepared, release_at,
        offline_ms_at_start, created_at)
      SELECT message_ids[e.i], instance_ids[e.i], conversation_ids[e.i],
        CASE WHEN releases[e.i] IS NULL
          THEN ranks[e.i] + coalesce(last_seqs[array_position(found_conversations, conversation_ids[e.i])], 0) END,
        CASE WHEN releases[e.i] IS NULL THEN 'waiting' ELSE 'scheduled' END,
        e.is_head, CASE WHEN e.is_head THEN now_at END, message_ids[e.i] <> ALL (unprepared), releases[e.i],
        offline_ms[e.i], now_at
      FROM (
        SELECT i, releases[i] IS NULL AND ranks[i] = 1 AND (new_conversations[i] OR (
          SELECT true FROM outbox o WHERE o.conversation_id = conversation_ids[i] AND o.head) IS NULL) AS is_head
        FROM (SELECT unnest(places) AS i) AS each
        WHERE written[i]
      ) AS e
    ), stored_contents AS (
      INSERT INTO message_contents (message_id, instance_id, content_sealed)
      SELECT message_ids[i], instance_ids[i], contents[i] FROM (SELECT unnest(places) AS i) AS each WHERE written[i]
    ), stored_texts AS (
      INSERT INTO mass_sends (fingerprint, contact_id, at)
      SELECT DISTINCT fingerprints[i], contact_ids[i], now_at FROM (SELECT unnest(places) AS i) AS each
      WHERE written[i] AND fingerprints[i] IS NOT NULL
      ORDER BY 1, 2
      ON CONFLICT (fingerprint, contact_id) DO UPDATE SET at = excluded.at
    )
    INSERT INTO messages (id, account_id, instance_id, conversation_id, direction, "to", type, status, wa_message_id,
      created_at, scheduled_for, updated_at)
    SELECT message_ids[i], seen_accounts[account_places[i]], instance_ids[i], conversation_ids[i], 'outbound',
      recipients[i], types[i], 'queued', wa_message_ids[i],
      to_timestamp(created[i] / 1000), releases[i], to_timestamp(created[i] / 1000)
    FROM (SELECT unnest(places) AS i) AS each WHERE written[i];
  EXCEPTION WHEN unique_violation THEN
    IF skip_locked THEN
      RAISE;
    END IF;
    written := NULL;
  END;
END $$;

-- SQL functions of gwk 0.1.0 (snapshot.js).

CREATE OR REPLACE FUNCTION gwk_id_hour(id uuid) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 3600000)::integer
$$;

CREATE OR REPLACE FUNCTION gwk_deliveries_by_hour(account uuid, low uuid)
RETURNS TABLE (hour integer, webhooks_succeeded integer, webhooks_failed integer)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
BEGIN
  RETURN QUERY
  SELECT gwk_id_hour(d.id), (count(*) FILTER (WHERE d.status = 'succeeded'))::integer,
    (count(*) FILTER (WHERE d.status = 'failed'))::integer
  FROM webhook_endpoints e JOIN webhook_deliveries d ON d.endpoint_id = e.id
  WHERE e.account_id = account AND d.id >= low
  GROUP BY 1;
END $$;

CREATE OR REPLACE FUNCTION gwk_messages_by_hour(account uuid, low uuid)
RETURNS TABLE (hour integer, sent integer, failed integer, received integer, delivered integer, read integer)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
BEGIN
  RETURN QUERY
  SELECT gwk_id_hour(m.id),
    (count(*) FILTER (WHERE m.direction = 'outbound' AND m.sent_at IS NOT NULL))::integer,
    (count(*) FILTER (WHERE m.direction = 'outbound' AND m.failed_at IS NOT NULL))::integer,
    (count(*) FILTER (WHERE m.direction = 'inbound'))::integer,
    (count(*) FILTER (WHERE m.direction = 'outbound' AND m.delivered_at IS NOT NULL))::integer,
    (count(*) FILTER (WHERE m.direction = 'outbound' AND m.read_at IS NOT NULL))::integer
  FROM messages m
  WHERE m.account_id = account AND gwk_id_bucket_256ms(m.id) >= gwk_id_bucket_256ms(low) AND m.id >= low
  GROUP BY 1;
END $$;

CREATE OR REPLACE FUNCTION gwk_messages_of_instances_by_hour(instances uuid[], low uuid)
RETURNS TABLE (hour integer, sent integer, failed integer, received integer, delivered integer, read integer)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
BEGIN
  RETURN QUERY
  SELECT gwk_id_hour(m.id),
    (count(*) FILTER (WHERE m.direction = 'outbound' AND m.sent_at IS NOT NULL))::integer,
    (count(*) FILTER (WHERE m.direction = 'outbound' AND m.failed_at IS NOT NULL))::integer,
    (count(*) FILTER (WHERE m.direction = 'inbound'))::integer,
    (count(*) FILTER (WHERE m.direction = 'outbound' AND m.delivered_at IS NOT NULL))::integer,
    (count(*) FILTER (WHERE m.direction = 'outbound' AND m.read_at IS NOT NULL))::integer
  FROM messages m
  WHERE m.instance_id = ANY (instances) AND gwk_id_bucket_256ms(m.id) >= gwk_id_bucket_256ms(low) AND m.id >= low
  GROUP BY 1;
END $$;

CREATE OR REPLACE FUNCTION gwk_troubled_instances(
  account uuid, visible uuid[], waiting_since timestamptz, max_rows integer
)
RETURNS TABLE (id uuid, name text, reason text) LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
BEGIN
  RETURN QUERY
  SELECT * FROM (
    SELECT i.id, i.name,
      CASE
        WHEN i.state IN ('logged_out', 'banned') THEN i.state
        WHEN i.restricted_until > now() THEN 'restricted'
        WHEN (SELECT o.head_since FROM outbox o WHERE o.instance_id = i.id AND o.head
          ORDER BY o.head_since LIMIT 1) < waiting_since THEN 'queue_growing'
      END AS trouble
    FROM instances i
    WHERE i.account_id = account AND i.deleted_at IS NULL AND (visible IS NULL OR i.id = ANY (visible))
  ) AS judged
  WHERE judged.trouble IS NOT NULL ORDER BY judged.id LIMIT max_rows;
END $$;

CREATE OR REPLACE FUNCTION gwk_lowest_id(at timestamptz) RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
$$;

CREATE OR REPLACE FUNCTION gwk_work_of_instances(instances uuid[], max_queue integer)
RETURNS TABLE (id uuid, queue integer, last_message_id uuid) LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  recent CONSTANT uuid := gwk_lowest_id(now() - interval '2 days');
BEGIN
  FOREACH id IN ARRAY instances LOOP
    SELECT count(*) INTO queue FROM (
      SELECT FROM outbox h JOIN outbox o ON o.conversation_id = h.conversation_id AND o.seq >> 4 IS NOT NULL
      WHERE h.instance_id = gwk_work_of_instances.id AND h.head LIMIT max_queue) AS waiting;
    SELECT m.id INTO last_message_id FROM messages m
    WHERE m.instance_id = gwk_work_of_instances.id AND m.id >= recent
    ORDER BY m.instance_id DESC, gwk_id_bucket_256ms(m.id) DESC, m.id DESC LIMIT 1;
    IF last_message_id IS NULL THEN
      SELECT m.id INTO last_message_id FROM messages m
      WHERE m.instance_id = gwk_work_of_instances.id AND m.id < recent
      ORDER BY m.instance_id DESC, gwk_id_bucket_256ms(m.id) DESC, m.id DESC LIMIT 1;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION gwk_contact_name(contact uuid) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT COALESCE(n.phone, n.name) FROM contact_names n WHERE n.contact_id = contact
  ORDER BY position('@' IN n.name) > 0, n.linked_at DESC NULLS LAST, n.name LIMIT 1
$$;

CREATE OR REPLACE FUNCTION gwk_contact_ids(contact uuid, instance uuid) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('lid', CASE WHEN v.lid IS NOT NULL OR n.phone IS NOT NULL THEN v.lid ELSE n.lid END,
    'phone', CASE WHEN v.lid IS NULL THEN n.phone ELSE v.phone END, 'username', v.username)
  FROM conversations v
  CROSS JOIN LATERAL (
    SELECT max(n.name) FILTER (WHERE position('@' IN n.name) > 0) AS lid,
      substring(gwk_contact_name(contact) FROM '^[0-9]+$') AS phone
    FROM contact_names n WHERE n.contact_id = contact
  ) AS n
  WHERE v.instance_id = instance AND v.contact_id = contact
$$;

CREATE OR REPLACE FUNCTION gwk_find_name(account uuid, canonical text, exact text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT COALESCE(
    (SELECT n.name FROM contact_names n WHERE n.account_id = account AND n.name = exact AND exact <> canonical), canonical)
$$;

CREATE OR REPLACE FUNCTION gwk_lock_contacts(ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM conversations v WHERE v.contact_id = ANY (ids) ORDER BY v.id FOR NO KEY UPDATE;
  PERFORM FROM contacts c WHERE c.id = ANY (ids) ORDER BY c.id FOR UPDATE;
  PERFORM FROM conversations v WHERE v.contact_id = ANY (ids) ORDER BY v.id FOR NO KEY UPDATE;
END $$;

CREATE OR REPLACE FUNCTION gwk_lock_contact_by_name(account uuid, contact_name text, new_contact uuid) RETURNS uuid
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

CREATE OR REPLACE FUNCTION gwk_id_day(id uuid) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 86400000)::integer
$$;

CREATE OR REPLACE FUNCTION gwk_merge_days(current_days integer[], added_days integer[]) RETURNS integer[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
  days integer[] := current_days || added_days;
  oldest integer;
BEGIN
  IF (current_days[cardinality(current_days)] < added_days[1]) IS NOT TRUE THEN
    days := ARRAY(SELECT DISTINCT d FROM unnest(days) AS d ORDER BY d);
  END IF;
  IF cardinality(days) % 16 = 0 THEN
    oldest := LEAST(
      (SELECT to_date(right(c.relname, 8), 'YYYYMMDD') - DATE '1970-01-01' FROM pg_class c
       WHERE c.relname > 'messages_' AND c.relname ~ '^messages_[0-9]{8}$' ORDER BY c.relname LIMIT 1),
      (SELECT gwk_id_day(m.id) FROM messages_default m ORDER BY m.id LIMIT 1),
      added_days[1]);
    days := ARRAY(SELECT d FROM unnest(days) AS d WHERE d >= oldest ORDER BY d);
  END IF;
  RETURN days;
END $$;

CREATE OR REPLACE FUNCTION gwk_merge_conversations(target_id uuid, source_id uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  base_seq bigint;
  waiting bigint;
BEGIN
  SELECT max(v.last_seq) INTO base_seq FROM conversations v WHERE v.id IN (target_id, source_id);
  WITH own AS (
    SELECT o.message_id, o.conversation_id, o.seq, bool_and(o.state = 'claimed') OVER in_order AS claimed,
      max(o.created_at) OVER in_order AS since, max(o.message_id::text) OVER in_order AS newest
    FROM outbox o WHERE o.conversation_id IN (target_id, source_id) AND o.seq IS NOT NULL
    WINDOW in_order AS (PARTITION BY o.conversation_id ORDER BY o.seq)
  ), ordered AS (
    SELECT w.message_id, row_number() OVER (ORDER BY w.claimed DESC, w.since, w.newest, w.seq) AS place
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
    first_sent_at = f.first_sent_at, first_sent_no = f.first_sent_no,
    timer_s = CASE WHEN g.timer_set_at > k.timer_set_at OR k.timer_set_at IS NULL THEN g.timer_s ELSE k.timer_s END,
    timer_set_at = GREATEST(k.timer_set_at, g.timer_set_at),
    lid = CASE WHEN k.lid IS NULL THEN g.lid ELSE k.lid END, phone = CASE WHEN k.lid IS NULL THEN g.phone ELSE k.phone END,
    username = COALESCE(k.username, g.username)
  FROM conversations g
  CROSS JOIN LATERAL (
    SELECT v.first_sent_at, v.first_sent_no FROM conversations v WHERE v.id IN (target_id, source_id)
    ORDER BY v.first_sent_no NULLS LAST LIMIT 1
  ) AS f
  WHERE k.id = target_id AND g.id = source_id;

  UPDATE messages m SET conversation_id = target_id WHERE m.conversation_id = source_id;
  UPDATE conversations k SET days = gwk_merge_days(k.days, g.days)
  FROM conversations g WHERE k.id = target_id AND g.id = source_id;
  UPDATE menus m SET conversation_id = target_id WHERE m.conversation_id = source_id;
  INSERT INTO inbound_seen (conversation_id, participant, wa_message_id, message_id, seen_at)
  SELECT target_id, s.participant, s.wa_message_id, s.message_id, s.seen_at FROM inbound_seen s
  WHERE s.conversation_id = source_id
  ON CONFLICT DO NOTHING;
  DELETE FROM conversations v WHERE v.id = source_id;
END $$;

CREATE OR REPLACE FUNCTION gwk_merge_contacts(target_id uuid, source_id uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gwk_merge_conversations(k.id, g.id)
  FROM conversations g
  JOIN conversations k ON k.instance_id = g.instance_id AND k.contact_id = target_id
  WHERE g.contact_id = source_id;
  UPDATE conversations v SET contact_id = target_id WHERE v.contact_id = source_id;

  DELETE FROM opt_outs o WHERE o.contact_id IN (target_id, source_id) AND o.resumed;
  UPDATE opt_outs o SET by_phone = false FROM opt_outs p
  WHERE o.contact_id = target_id AND o.by_phone AND p.contact_id = source_id AND p.sandbox_id IS NULL AND NOT p.by_phone;
  UPDATE opt_outs o SET contact_id = target_id
  WHERE o.contact_id = source_id AND NOT EXISTS (
    SELECT FROM opt_outs p WHERE p.contact_id = target_id AND p.sandbox_id IS NOT DISTINCT FROM o.sandbox_id);
  DELETE FROM mass_sends s
  WHERE s.contact_id = source_id
    AND EXISTS (SELECT FROM mass_sends t WHERE t.fingerprint = s.fingerprint AND t.contact_id = target_id);
  UPDATE mass_sends s SET contact_id = target_id WHERE s.contact_id = source_id;
  UPDATE contact_names n SET contact_id = target_id WHERE n.contact_id = source_id;
  UPDATE contacts c SET name = COALESCE(c.name, g.name) FROM contacts g WHERE c.id = target_id AND g.id = source_id;
  DELETE FROM contacts c WHERE c.id = source_id;
END $$;

CREATE OR REPLACE FUNCTION gwk_id_range(ids uuid[], OUT lowest uuid, OUT highest uuid) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  id uuid;
BEGIN
  FOREACH id IN ARRAY COALESCE(ids, '{}') LOOP
    lowest := LEAST(lowest, id);
    highest := GREATEST(highest, id);
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION gwk_move_messages(source_id uuid, instance uuid, target_contact uuid, recipients text[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  new_id uuid := gen_random_uuid();
  target_id uuid;
  moved uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  moved := ARRAY(
    SELECT o.message_id FROM outbox o WHERE o.conversation_id = source_id AND o.attempted_at IS NULL ORDER BY 1);
  SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(moved) AS s;
  moved := ARRAY(
    SELECT m.id FROM messages m
    WHERE m.id = ANY (moved) AND m.id BETWEEN lowest AND highest
      AND (m."to" = ANY (recipients) OR regexp_replace(m."to", '(:[0-9]+)?@s\.whatsapp\.net$', '') = ANY (recipients)));
  IF moved = '{}' THEN
    RETURN;
  END IF;

  INSERT INTO conversations (id, instance_id, group_id, days, last_seq)
  SELECT new_id, instance, 'moving ' || new_id, v.days, v.last_seq FROM conversations v WHERE v.id = source_id;
  UPDATE outbox o SET conversation_id = new_id, head = false WHERE o.message_id = ANY (moved);
  UPDATE outbox o SET head = true, head_since = COALESCE(o.head_since, now())
  FROM (
    SELECT DISTINCT ON (q.conversation_id) q.message_id FROM outbox q
    WHERE q.conversation_id IN (source_id, new_id) AND q.seq IS NOT NULL
      AND NOT EXISTS (SELECT FROM outbox h WHERE h.conversation_id = q.conversation_id AND h.head)
    ORDER BY q.conversation_id, q.seq
  ) AS first
  WHERE o.message_id = first.message_id;
  UPDATE messages m SET conversation_id = new_id, version = m.version + 1
  WHERE m.id = ANY (moved) AND m.id BETWEEN lowest AND highest;

  target_id := (SELECT v.id FROM conversations v WHERE v.instance_id = instance AND v.contact_id = target_contact);
  IF target_id IS NULL THEN
    UPDATE conversations v SET contact_id = target_contact, group_id = NULL WHERE v.id = new_id;
  ELSE
    PERFORM gwk_merge_conversations(target_id, new_id);
  END IF;
END $$;

CREATE OR REPLACE FUNCTION gwk_pass_name(
  account uuid, source_contact uuid, target_contact uuid, passed_name text, phones text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  source record;
BEGIN
  IF passed_name = ANY (phones) THEN
    UPDATE contact_names n SET contact_id = target_contact WHERE n.account_id = account AND n.name = passed_name;
    UPDATE opt_outs o SET contact_id = target_contact
    WHERE o.contact_id = source_contact AND o.by_phone AND o.phone = ANY (phones)
      AND NOT EXISTS (SELECT FROM opt_outs p WHERE p.contact_id = target_contact AND p.sandbox_id IS NULL);
  END IF;
  FOR source IN SELECT v.id, v.instance_id FROM conversations v WHERE v.contact_id = source_contact LOOP
    PERFORM gwk_move_messages(source.id, source.instance_id, target_contact, phones);
  END LOOP;
  UPDATE conversations v SET lid = NULLIF(v.lid, passed_name), phone = CASE WHEN v.phone <> ALL (phones) THEN v.phone END,
    username = CASE WHEN v.lid IS DISTINCT FROM passed_name THEN v.username END
  WHERE v.contact_id = source_contact AND (v.phone = ANY (phones) OR v.lid = passed_name);
END $$;

CREATE OR REPLACE FUNCTION gwk_phone_forms(phone text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT phone || ' ' || CASE
    WHEN phone ~ '^55[1-9][0-9]9[6-9][0-9]{7}$' THEN left(phone, 4) || substr(phone, 6)
    WHEN phone ~ '^55[1-9][0-9][6-9][0-9]{7}$' THEN left(phone, 4) || '9' || substr(phone, 5)
    WHEN phone ~ '^521[0-9]{10}$' THEN '52' || substr(phone, 4)
    WHEN phone ~ '^52[0-9]{10}$' THEN '521' || substr(phone, 3)
    WHEN phone ~ '^549[0-9]{10}$' THEN '54' || substr(phone, 4)
    WHEN phone ~ '^54[0-9]{10}$' THEN '549' || substr(phone, 3)
    ELSE '' END
$$;

CREATE OR REPLACE FUNCTION gwk_renew_contact(former_id uuid, new_id uuid) RETURNS void LANGUAGE sql AS $$
  UPDATE contacts c SET id = new_id WHERE c.id = former_id;
  UPDATE mass_sends s SET contact_id = new_id WHERE s.contact_id = former_id
$$;

CREATE OR REPLACE FUNCTION gwk_set_conversation_names(instance uuid, contact uuid, new_lid text, new_phone text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  conversation uuid;
  claimed uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  UPDATE conversations v SET lid = new_lid, phone = new_phone,
    username = CASE WHEN v.lid <> new_lid THEN NULL ELSE v.username END
  WHERE v.instance_id = instance AND v.contact_id = contact AND (v.lid, v.phone) IS DISTINCT FROM (new_lid, new_phone)
  RETURNING v.id INTO conversation;
  IF conversation IS NULL THEN
    RETURN;
  END IF;
  claimed := ARRAY(
    SELECT o.message_id FROM outbox o WHERE o.conversation_id = conversation AND o.state = 'claimed' ORDER BY 1);
  SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(claimed) AS s;
  UPDATE messages m SET version = m.version + 1 WHERE m.id = ANY (claimed) AND m.id BETWEEN lowest AND highest;
END $$;

CREATE OR REPLACE FUNCTION gwk_set_username(
  account uuid, instance uuid, given_lid text, sandbox_contact uuid, new_username text, stated_at timestamptz
) RETURNS TABLE (previous jsonb) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  person uuid := sandbox_contact;
  named uuid;
  conversation uuid;
  former jsonb;
BEGIN
  IF stated_at > now() THEN
    stated_at := now();
  END IF;
  LOOP
    IF given_lid IS NOT NULL THEN
      SELECT n.contact_id INTO person FROM contact_names n
      WHERE n.account_id = account AND n.name = given_lid
        AND (n.username IS NOT DISTINCT FROM new_username OR n.username_at IS NULL OR n.username_at <= stated_at);
    END IF;
    SELECT v.id, jsonb_build_object('lid', given_lid, 'phone', CASE WHEN v.lid = given_lid THEN v.phone END,
      'username', v.username) INTO conversation, former
    FROM conversations v
    WHERE v.instance_id = instance AND v.contact_id = person AND v.username IS DISTINCT FROM new_username
    FOR NO KEY UPDATE;
    EXIT WHEN given_lid IS NULL;
    SELECT n.contact_id INTO named FROM contact_names n
    WHERE n.account_id = account AND n.name = given_lid
      AND (n.username IS NOT DISTINCT FROM new_username OR n.username_at IS NULL OR n.username_at <= stated_at)
    FOR NO KEY UPDATE;
    EXIT WHEN named IS NOT DISTINCT FROM person;
  END LOOP;
  UPDATE conversations v SET username = new_username WHERE v.id = conversation;
  UPDATE contact_names n SET username = new_username, username_at = stated_at
  WHERE named IS NOT NULL AND n.account_id = account AND n.name = given_lid AND n.username IS DISTINCT FROM new_username;
  RETURN QUERY SELECT former WHERE former IS NOT NULL;
END $$;

CREATE OR REPLACE FUNCTION gwk_link_names(
  account uuid, instance uuid, lid text, phone text, canonical text, new_contact uuid, renewed_contact uuid,
  stated jsonb
) RETURNS TABLE (contact_id uuid, changed boolean, opted_out boolean, updates jsonb) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  given_lid text := lid;
  given_phone text := phone;
  person uuid;
  owner uuid;
  owner_lid text;
  found_name text;
  registered text;
  kept uuid[];
  former jsonb := '{}';
  former_ids jsonb;
BEGIN
  IF given_lid !~ '^[0-9]{5,20}@lid$' OR given_phone !~ '^[0-9]{8,15}$' THEN
    RAISE EXCEPTION 'only a LID and a phone number can be linked' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  changed := false;
  LOOP
    person := (SELECT n.contact_id FROM contact_names n WHERE n.account_id = account AND n.name = given_lid);
    found_name := gwk_find_name(account, canonical, given_phone);
    SELECT n.contact_id, n.phone INTO owner, registered
    FROM contact_names n WHERE n.account_id = account AND n.name = found_name;
    EXIT WHEN person = owner;
    IF person IS NULL AND owner IS NULL THEN
      PERFORM gwk_lock_contact_by_name(account, given_lid, new_contact);
      CONTINUE;
    END IF;
    PERFORM gwk_lock_contacts(ARRAY[person, owner]);
    CONTINUE WHEN found_name <> gwk_find_name(account, canonical, given_phone) OR (
      SELECT count(*) FROM contact_names n
      WHERE n.account_id = account AND (n.name, n.contact_id) IN ((given_lid, person), (found_name, owner))
    ) < (person IS NOT NULL)::integer + (owner IS NOT NULL)::integer;
    IF owner IS NULL THEN
      former := former || jsonb_build_object(given_lid, gwk_contact_ids(person, instance));
      INSERT INTO contact_names (account_id, name, contact_id) VALUES (account, found_name, person) ON CONFLICT DO NOTHING;
      CONTINUE;
    END IF;
    owner_lid := (SELECT n.name FROM contact_names n WHERE n.contact_id = owner AND position('@' IN n.name) > 0);
    former := former || CASE
      WHEN owner_lid IS NULL
        THEN jsonb_build_object(given_lid, COALESCE(gwk_contact_ids(owner, instance), gwk_contact_ids(person, instance)))
      WHEN person IS NOT NULL
        THEN jsonb_build_object(owner_lid, gwk_contact_ids(owner, instance), given_lid, gwk_contact_ids(person, instance))
      ELSE '{}' END;
    IF person IS NULL THEN
      IF owner_lid IS NULL THEN
        INSERT INTO contact_names (account_id, name, contact_id) VALUES (account, given_lid, owner) ON CONFLICT DO NOTHING;
      ELSE
        PERFORM gwk_lock_contact_by_name(account, given_lid, new_contact);
      END IF;
    ELSIF owner_lid IS NULL THEN
      PERFORM gwk_merge_contacts(LEAST(person, owner), GREATEST(person, owner));
      changed := true;
    ELSIF registered <> given_phone THEN
      INSERT INTO contact_names (account_id, name, contact_id, phone, linked_at)
      SELECT account, exact.digits, exact.contact_id, exact.digits, now()
      FROM (VALUES (registered, owner), (given_phone, person)) AS exact(digits, contact_id)
      WHERE exact.digits <> found_name
      ON CONFLICT DO NOTHING;
      PERFORM gwk_pass_name(account, owner, person, found_name, CASE WHEN found_name = given_phone
        THEN array_remove(string_to_array(gwk_phone_forms(found_name), ' '), registered) ELSE ARRAY[given_phone] END);
      PERFORM gwk_renew_contact(owner, renewed_contact);
      changed := true;
    ELSE
      kept := ARRAY(
        SELECT v.id FROM conversations v
        WHERE v.contact_id = owner AND v.instance_id <> instance AND v.lid = owner_lid AND v.phone = given_phone);
      EXIT WHEN kept <> '{}' AND (
        SELECT array_agg(DISTINCT o.contact_id) FROM opt_outs o
        WHERE o.contact_id IN (person, owner) AND o.sandbox_id IS NULL) IS DISTINCT FROM ARRAY[person];
      PERFORM gwk_pass_name(account, owner, person, found_name, string_to_array(gwk_phone_forms(given_phone), ' '));
      UPDATE conversations v SET lid = owner_lid, phone = given_phone WHERE v.id = ANY (kept);
      PERFORM gwk_renew_contact(owner, renewed_contact);
      changed := true;
    END IF;
  END LOOP;

  IF person = owner THEN
    UPDATE contact_names n SET phone = given_phone, linked_at = now()
    WHERE n.account_id = account AND n.name = found_name AND (n.phone IS DISTINCT FROM given_phone
      OR EXISTS (SELECT FROM contact_names o WHERE o.contact_id = person AND o.linked_at > n.linked_at));
    UPDATE opt_outs o SET phone = given_phone WHERE o.contact_id = person AND o.phone IS NULL;
  END IF;
  IF NOT former ? given_lid THEN
    PERFORM FROM conversations v
    WHERE v.instance_id = instance AND v.contact_id = person AND (v.lid, v.phone) IS DISTINCT FROM (given_lid, given_phone)
    FOR NO KEY UPDATE;
    IF FOUND THEN
      former := former || jsonb_build_object(given_lid, gwk_contact_ids(person, instance));
    END IF;
  END IF;
  PERFORM gwk_set_conversation_names(instance, person, given_lid, given_phone);
  IF stated IS NOT NULL THEN
    FOR former_ids IN SELECT u.previous FROM gwk_set_username(
      account, instance, given_lid, NULL, stated->>'username', (stated->>'at')::timestamptz) AS u LOOP
      former := jsonb_build_object(given_lid, former_ids) || former;
    END LOOP;
  END IF;
  contact_id := person;
  opted_out := EXISTS (SELECT FROM opt_outs o WHERE o.contact_id = person);
  updates := (
    SELECT jsonb_agg(jsonb_build_object('contact', a.ids, 'previous', f.value))
    FROM jsonb_each(former) AS f
    JOIN contact_names n ON n.account_id = account AND n.name = f.key
    CROSS JOIN LATERAL gwk_contact_ids(n.contact_id, instance) AS a(ids)
    WHERE jsonb_typeof(f.value) = 'object' AND a.ids <> f.value);
  RETURN NEXT;
END $$;

CREATE OR REPLACE FUNCTION gwk_opted_out(contact uuid, instance uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce(bool_and(NOT o.resumed), false) FROM opt_outs o
  WHERE o.contact_id = contact AND (o.sandbox_id IS NULL OR o.sandbox_id = instance)
$$;

CREATE OR REPLACE FUNCTION gwk_split_contact(
  account uuid, split_name text, new_contact uuid, renewed_contact uuid, new_opt_out uuid
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  former uuid := gwk_lock_contact_by_name(account, split_name, NULL);
BEGIN
  IF former IS NULL OR (SELECT count(*) FROM contact_names n WHERE n.contact_id = former) < 2 THEN
    RETURN false;
  END IF;
  INSERT INTO contacts (id, account_id) VALUES (new_contact, account);
  INSERT INTO opt_outs (id, contact_id, account_id, phone, by_phone, source, keyword, instance_id, unfinished)
  SELECT new_opt_out, new_contact, o.account_id, o.phone, o.by_phone, o.source, o.keyword, o.instance_id, o.unfinished
  FROM opt_outs o WHERE o.contact_id = former AND o.sandbox_id IS NULL;
  PERFORM gwk_pass_name(account, former, new_contact, split_name, CASE WHEN position('@' IN split_name) > 0
    THEN ARRAY[split_name] ELSE string_to_array(gwk_phone_forms(split_name), ' ') END);
  PERFORM gwk_renew_contact(former, renewed_contact);
  RETURN true;
END $$;

CREATE OR REPLACE FUNCTION gwk_waiting_messages_of_contact(contact uuid, sandbox uuid, max_messages integer)
RETURNS TABLE (message_id uuid)
LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
  SELECT w.message_id FROM conversations v
  CROSS JOIN LATERAL (
    SELECT o.message_id, o.state FROM outbox o WHERE o.conversation_id = v.id AND o.attempted_at IS NULL OFFSET 0) AS w
  WHERE v.contact_id = contact AND (sandbox IS NULL OR v.instance_id = sandbox)
    AND gwk_opted_out(contact, v.instance_id)
  ORDER BY w.state <> 'claimed', w.message_id LIMIT max_messages
$$;

CREATE OR REPLACE FUNCTION gwk_equals_by_hash(value text, wanted text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT gwk_hash_high(value) >= gwk_hash_high(wanted) AND gwk_hash_high(value) <= gwk_hash_high(wanted)
    AND gwk_hash_low(value) = gwk_hash_low(wanted) AND value = wanted
$$;

CREATE OR REPLACE FUNCTION gwk_new_id() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid())
        placing substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6),
      52, 1), 53, 1), 'hex')::uuid
$$;

CREATE OR REPLACE FUNCTION gwk_acquire_lease(
  instance uuid, token uuid, pod_name text, engine_version text, new_holder uuid, lease_ms integer,
  OUT outcome text, OUT new_epoch integer, OUT retry_after_ms integer, OUT unresponsive_since timestamptz
) LANGUAGE plpgsql AS $$
DECLARE
  lease instance_leases;
  caller_token engine_tokens;
BEGIN
  SELECT * INTO lease FROM instance_leases l WHERE l.instance_id = instance FOR UPDATE;
  IF NOT FOUND OR EXISTS (SELECT FROM instances i WHERE i.id = instance AND i.deleted_at IS NOT NULL) THEN
    outcome := 'gone';
    RETURN;
  END IF;
  SELECT * INTO caller_token FROM engine_tokens t
  WHERE t.id = token AND t.instance_id = instance AND t.pod = pod_name AND t.revoked_at IS NULL;
  IF NOT FOUND OR EXISTS (
    SELECT FROM engine_tokens t
    WHERE t.id = lease.token_id AND (t.issued_at, t.id) > (caller_token.issued_at, caller_token.id)
  ) THEN
    outcome := 'unauthorized';
    RETURN;
  END IF;
  IF lease.holder = new_holder AND lease.token_id = token THEN
    UPDATE instance_leases l
    SET renewed_at = now(), expires_at = GREATEST(l.expires_at, now() + lease_ms * interval '1 millisecond')
    WHERE l.instance_id = instance;
    outcome := 'acquired';
    new_epoch := lease.epoch;
    RETURN;
  END IF;
  IF lease.holder IS NOT NULL AND lease.expires_at > now() THEN
    outcome := 'lease-held';
    retry_after_ms := ceil(extract(epoch FROM lease.expires_at - now()) * 1000);
    RETURN;
  END IF;
  UPDATE instance_leases l
  SET epoch = l.epoch + 1, holder = new_holder, token_id = token, pod = pod_name, version = engine_version,
    renewed_at = now(), expires_at = now() + lease_ms * interval '1 millisecond'
  WHERE l.instance_id = instance;
  UPDATE engine_tokens t SET revoked_at = now()
  WHERE t.instance_id = instance AND t.revoked_at IS NULL
    AND (t.issued_at, t.id) < (caller_token.issued_at, caller_token.id);
  outcome := 'acquired';
  new_epoch := lease.epoch + 1;
  unresponsive_since := (
    SELECT CASE WHEN lease.holder IS NULL THEN lease.expires_at ELSE lease.renewed_at END
    FROM instances i WHERE i.id = instance AND i.state = 'connected');
END $$;

CREATE OR REPLACE FUNCTION gwk_advance_call(instance uuid, name text, lease_epoch integer, call_number bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO engine_calls AS c (instance_id, route, epoch, number) VALUES (instance, name, lease_epoch, call_number)
  ON CONFLICT (instance_id, route) DO UPDATE SET epoch = excluded.epoch, number = excluded.number
  WHERE c.epoch <> excluded.epoch OR c.number < excluded.number;
  RETURN FOUND;
END $$;

CREATE OR REPLACE FUNCTION gwk_fence(instance_ids uuid[], epochs integer[], holders uuid[]) RETURNS text[]
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

CREATE OR REPLACE FUNCTION gwk_lock_conversations(message_ids uuid[]) RETURNS void
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
    EXIT WHEN NOT EXISTS (
      SELECT FROM outbox o WHERE o.message_id = ANY (message_ids) AND o.conversation_id <> ALL (ids));
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION gwk_store_forms(
  held_ids uuid[], message_ids uuid[], encoded bytea[], renderings text[], menus jsonb, menu_hours integer
) RETURNS uuid[]
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
#variable_conflict use_column
DECLARE
  already_built uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  already_built := ARRAY(
    SELECT c.message_id FROM message_contents c WHERE c.message_id = ANY (held_ids) AND c.built_sealed IS NOT NULL);
  UPDATE message_contents c SET built_sealed = b.built
  FROM (SELECT DISTINCT ON (u.message_id) u.message_id, u.built
        FROM unnest(message_ids, encoded) WITH ORDINALITY AS u(message_id, built, place)
        WHERE u.message_id = ANY (held_ids) AND u.message_id <> ALL (already_built)
        ORDER BY u.message_id, u.place) AS b
  WHERE c.message_id = b.message_id;
  IF EXISTS (SELECT FROM unnest(renderings) AS r(rendering) WHERE r.rendering IS NOT NULL) THEN
    SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(held_ids) AS s;
    UPDATE messages m SET rendered_as = b.rendering, version = m.version + 1, updated_at = now()
    FROM (SELECT u.message_id, u.rendering FROM unnest(message_ids, renderings) AS u(message_id, rendering)
          WHERE u.message_id = ANY (held_ids) AND u.message_id <> ALL (already_built) AND u.rendering IS NOT NULL) AS b
    WHERE m.id = b.message_id AND m.id = ANY (held_ids) AND m.id BETWEEN lowest AND highest
      AND m.rendered_as IS DISTINCT FROM b.rendering;
  END IF;
  IF jsonb_array_length(menus) > 0 THEN
    SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(held_ids) AS s;
    INSERT INTO menus (message_id, conversation_id, instance_id, wa_message_id, kind, mode, options_sealed, delete_at)
    SELECT m.id, m.conversation_id, m.instance_id, m.wa_message_id, n.kind, n.mode, decode(n.options, 'base64'),
      now() + interval '1 hour' + CASE WHEN n.kind = 'poll' THEN interval '90 days'
        ELSE make_interval(hours => coalesce(
          (i.policy ->> 'menu_ttl_hours')::integer, (a.policy ->> 'menu_ttl_hours')::integer, menu_hours)) END
    FROM jsonb_to_recordset(menus) AS n(message_id uuid, kind text, mode text, options text)
    JOIN messages m ON m.id = n.message_id AND m.id = ANY (held_ids) AND m.id BETWEEN lowest AND highest
    JOIN instances i ON i.id = m.instance_id
    JOIN accounts a ON a.id = m.account_id
    WHERE n.message_id = ANY (held_ids)
    ON CONFLICT (message_id) DO NOTHING;
  END IF;
  RETURN already_built;
END $$;

CREATE OR REPLACE FUNCTION gwk_store_built(
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

  already_built := gwk_store_forms(claimed_ids, message_ids, encoded, renderings, menus, menu_hours);

  RETURN QUERY
  SELECT b.place::integer, refusals[b.place], COALESCE(b.message_id = ANY (claimed_ids), false),
    CASE WHEN b.message_id = ANY (already_built) OR b.repeated THEN (
      SELECT c.built_sealed FROM message_contents c WHERE c.message_id = b.message_id) END
  FROM (SELECT u.*, row_number() OVER (PARTITION BY u.message_id ORDER BY u.place) > 1 AS repeated
        FROM unnest(message_ids) WITH ORDINALITY AS u(message_id, place)) AS b
  ORDER BY b.place;
END $$;

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
  claim_ids uuid[];
  timers_s integer[];
  timers_set_at timestamptz[];
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
  PERFORM set_config('synchronous_commit', 'off', true);
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
    WITH following AS (
      SELECT f.message_id, c.place, row_number() OVER (PARTITION BY c.place ORDER BY f.depth, h.head_since) AS rank
      FROM unnest(claimed_ids, claimed_places) AS c(message_id, place)
      JOIN outbox h ON h.message_id = c.message_id
      CROSS JOIN LATERAL (
        SELECT n.message_id, row_number() OVER in_order AS depth, bool_and(n.is_free) OVER in_order AS is_next
        FROM (
          SELECT e.message_id, e.seq, e.prepared AND e.attempted_at IS NULL AND (
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
  ORDER BY r.place, CASE WHEN o.head THEN o.head_since END, o.seq, o.message_id;
END $$;

CREATE OR REPLACE FUNCTION gwk_renew_leases(instance_ids uuid[], epochs integer[], holders uuid[], lease_ms integer)
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

CREATE OR REPLACE FUNCTION gwk_write_session(
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
  IF NOT gwk_advance_call(instance, 'session-write', epoch, number) THEN
    RETURN NULL;
  END IF;
  DELETE FROM session_keys s
  USING unnest(types, keys, sealed) AS w(type, key, value)
  WHERE s.instance_id = instance AND s.type = w.type AND s.key = w.key AND w.value IS NULL;
  INSERT INTO session_keys (instance_id, type, key, value_sealed)
  SELECT instance, w.type, w.key, w.value FROM unnest(types, keys, sealed) AS w(type, key, value)
  WHERE w.value IS NOT NULL
  ON CONFLICT (instance_id, type, key) DO UPDATE SET value_sealed = EXCLUDED.value_sealed;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION gwk_emit(items jsonb, changed uuid[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
BEGIN
  WITH emitted AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(items) AS e(
      message_id uuid, subject uuid, id uuid, account_id uuid, instance_id uuid, type text, by_default boolean,
      at timestamptz, data text)
    WHERE e.message_id IS NULL OR e.message_id = ANY (changed)
  ), stored AS (
    INSERT INTO events (id, account_id, instance_id, type, "timestamp", data_sealed)
    SELECT id, account_id, instance_id, type, at, decode(data, 'base64') FROM emitted
  ), matching AS (
    SELECT gwk_new_id() AS delivery_id, d.id AS endpoint_id, d.account_id, e.id AS event_id, e.instance_id,
      e.subject, e.type
    FROM emitted e
    JOIN webhook_endpoints d ON d.account_id = e.account_id AND d.enabled
    WHERE (e.type = ANY (d.event_types) OR (d.event_types = '{}' AND e.by_default))
      AND (e.instance_id IS NULL
        OR NOT EXISTS (SELECT FROM webhook_endpoint_instances r WHERE r.endpoint_id = d.id)
        OR EXISTS (SELECT FROM webhook_endpoint_instances r
                   WHERE r.endpoint_id = d.id AND r.instance_id = e.instance_id))
  ), logged AS (
    INSERT INTO webhook_deliveries
      (id, account_id, endpoint_id, event_id, instance_id, message_id, event_type, status, next_attempt_at, created_at)
    SELECT delivery_id, account_id, endpoint_id, event_id, instance_id, subject, type, 'pending', now(), now()
    FROM matching
  )
  INSERT INTO webhook_queue (delivery_id, endpoint_id, event_id, due_at)
  SELECT delivery_id, endpoint_id, event_id, now() FROM matching;
END $$;

CREATE OR REPLACE FUNCTION gwk_events_of_account(account uuid, type_filter text, low uuid, high uuid, max_rows integer)
RETURNS SETOF events LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  IF type_filter IS NULL THEN
    RETURN QUERY
    SELECT n.* FROM events n
    WHERE (n.account_id, n.id) >= (account, low) AND (n.account_id, n.id) < (account, high)
      AND n.id >= low AND n.id < high
    ORDER BY n.account_id DESC, n.id DESC LIMIT max_rows;
  ELSE
    RETURN QUERY
    SELECT n.* FROM events n
    WHERE (n.account_id, n.type, n.id) >= (account, type_filter, low)
      AND (n.account_id, n.type, n.id) < (account, type_filter, high) AND n.id >= low AND n.id < high
    ORDER BY n.account_id DESC, n.type DESC, n.id DESC LIMIT max_rows;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION gwk_events_of_instances(instances uuid[], type_filter text, low uuid, high uuid, max_rows integer)
RETURNS SETOF events LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT m.* FROM unnest(instances) AS owner(id)
  CROSS JOIN LATERAL (
    SELECT n.* FROM events n
    WHERE (n.instance_id, n.id) >= (owner.id, low) AND (n.instance_id, n.id) < (owner.id, high)
      AND n.id >= low AND n.id < high AND (type_filter IS NULL OR n.type = type_filter)
    ORDER BY n.instance_id DESC, n.id DESC LIMIT max_rows) AS m
  ORDER BY m.id DESC LIMIT max_rows;
END $$;

CREATE OR REPLACE FUNCTION gwk_menu_facts(menu menus) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('messageId', menu.message_id, 'waMessageId', menu.wa_message_id, 'kind', menu.kind,
    'mode', menu.mode, 'options', encode(menu.options_sealed, 'base64'),
    'sentAt', extract(epoch FROM menu.sent_at) * 1000, 'answered', menu.answered_at IS NOT NULL)
$$;

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
    participant, list, created_at, sent_at, delivered_at, updated_at)
  SELECT i.message_id, i.account_id, i.instance_id, i.conversation_id, 'inbound', i."to", i.type, 'delivered',
    i.wa_message_id, i.participant, i.list, i.created_at, i.at, i.created_at, i.created_at
  FROM jsonb_to_recordset(items)
    AS i(message_id uuid, account_id uuid, instance_id uuid, conversation_id uuid, "to" text, type text,
      wa_message_id text, participant text, list text, created_at timestamptz, at timestamptz, has_row boolean)
  WHERE i.has_row AND i.message_id = ANY (inserted);

  INSERT INTO message_cards (message_id, instance_id, card_sealed)
  SELECT i.message_id, i.instance_id, decode(i.card, 'base64')
  FROM jsonb_to_recordset(items) AS i(message_id uuid, instance_id uuid, has_row boolean, card text)
  WHERE i.card IS NOT NULL AND i.has_row AND i.message_id = ANY (inserted);

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

  IF items @? '$[*].timer_set_at' THEN
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

CREATE OR REPLACE FUNCTION gwk_receive_gather(arrivals jsonb) RETURNS TABLE (
  account_id uuid, is_sandbox boolean, account_policy text, instance_policy text,
  contact_id uuid, conversation_id uuid, lid text, phone text, username text,
  sender_id uuid, sender_phone text, sender_username text, alt_id uuid, author_username text,
  newest_menu jsonb, quoted_menu jsonb, target_menu jsonb, chosen integer[]
)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
BEGIN
  RETURN QUERY
  SELECT i.account_id, i.kind = 'sandbox', CASE WHEN q.typed THEN a.policy::text END, CASE WHEN q.typed THEN i.policy::text END,
    n.contact_id, c.id, c.lid, c.phone, c.username,
    s.contact_id, d.phone, COALESCE(s.username, t.username), t.contact_id,
    (SELECT k.username FROM contact_names k WHERE k.account_id = i.account_id AND k.name = q.author),
    newest.facts, quoted.facts, target.facts, w.chosen
  FROM ROWS FROM (jsonb_to_recordset(arrivals) AS (
    instance_id uuid, name text, exact text, group_id text, sender text, sender_exact text, alt text, alt_exact text,
    target text, quote text, author text, typed boolean, voter text, voters text[]
  )) WITH ORDINALITY AS q(instance_id, name, exact, group_id, sender, sender_exact, alt, alt_exact, target, quote, author,
    typed, voter, voters, place)
  LEFT JOIN instances i ON i.id = q.instance_id
  LEFT JOIN accounts a ON a.id = i.account_id
  LEFT JOIN LATERAL (
    SELECT k.contact_id FROM contact_names k WHERE k.account_id = i.account_id AND k.name = COALESCE(
      (SELECT e.name FROM contact_names e WHERE e.account_id = i.account_id AND e.name = q.exact), q.name) LIMIT 1
  ) n ON true
  LEFT JOIN LATERAL (
    SELECT k.contact_id, k.username FROM contact_names k WHERE k.account_id = i.account_id AND k.name = COALESCE(
      (SELECT e.name FROM contact_names e WHERE e.account_id = i.account_id AND e.name = q.sender_exact), q.sender) LIMIT 1
  ) s ON true
  LEFT JOIN LATERAL (
    SELECT k.contact_id, k.username FROM contact_names k WHERE k.account_id = i.account_id AND k.name = COALESCE(
      (SELECT e.name FROM contact_names e WHERE e.account_id = i.account_id AND e.name = q.alt_exact), q.alt) LIMIT 1
  ) t ON true
  LEFT JOIN LATERAL (
    SELECT v.id, v.lid, v.phone, v.username FROM conversations v
    WHERE v.instance_id = i.id AND v.contact_id = n.contact_id
    UNION ALL
    SELECT v.id, v.lid, v.phone, v.username FROM conversations v WHERE v.instance_id = i.id AND v.group_id = q.group_id
  ) c ON true
  LEFT JOIN conversations d ON d.instance_id = i.id AND d.contact_id = s.contact_id AND d.lid = q.sender
  LEFT JOIN LATERAL (
    SELECT m.message_id, gwk_menu_facts(m) AS facts FROM menus m
    WHERE q.typed AND m.conversation_id = c.id AND m.sent_at IS NOT NULL
    ORDER BY m.sent_at DESC, m.message_id DESC LIMIT 1
  ) newest ON true
  LEFT JOIN LATERAL (
    SELECT gwk_menu_facts(m) AS facts FROM menus m
    WHERE q.typed AND m.instance_id = i.id AND m.wa_message_id = q.quote AND m.conversation_id = c.id
      AND m.sent_at IS NOT NULL LIMIT 1
  ) quoted ON true
  LEFT JOIN LATERAL (
    SELECT m.message_id,
      gwk_menu_facts(m) || jsonb_build_object('elsewhere', m.conversation_id IS DISTINCT FROM c.id) AS facts
    FROM menus m WHERE m.instance_id = i.id AND m.wa_message_id = q.target LIMIT 1
  ) target ON true
  LEFT JOIN LATERAL (
    SELECT p.chosen FROM poll_votes p
    WHERE p.voter = ANY (COALESCE(q.voters, ARRAY[q.voter]))
      AND p.message_id = CASE WHEN q.target IS NULL THEN newest.message_id ELSE target.message_id END
    ORDER BY array_position(q.voters, p.voter) LIMIT 1
  ) w ON true
  ORDER BY q.place;
END $$;

CREATE OR REPLACE FUNCTION gwk_queued_endpoints() RETURNS TABLE (id uuid, first_due timestamptz) LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
  WITH RECURSIVE waiting(id, first_due) AS (
    (SELECT q.endpoint_id, q.due_at FROM webhook_queue q ORDER BY q.endpoint_id, q.due_at LIMIT 1)
    UNION ALL
    SELECT next.endpoint_id, next.due_at
    FROM waiting w
    CROSS JOIN LATERAL (
      SELECT q.endpoint_id, q.due_at FROM webhook_queue q WHERE q.endpoint_id > w.id
      ORDER BY q.endpoint_id, q.due_at LIMIT 1
    ) AS next
  )
  SELECT w.id, w.first_due FROM waiting w
$$;

CREATE OR REPLACE FUNCTION gwk_abandon_webhooks(max_deliveries integer) RETURNS integer
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_bitmapscan = off SET enable_material = off
AS $$
DECLARE
  abandoned integer;
BEGIN
  WITH entries AS MATERIALIZED (
    SELECT c.delivery_id, e.id IS NULL AS deleted
    FROM gwk_queued_endpoints() AS w
    LEFT JOIN webhook_endpoints e ON e.id = w.id
    CROSS JOIN LATERAL (
      SELECT q.delivery_id FROM webhook_queue q
      WHERE q.endpoint_id = w.id AND (q.locked_until IS NULL OR q.locked_until <= now())
        AND (e.id IS NULL OR q.attempts > 0 OR q.due_at <= e.disabled_at)
      LIMIT max_deliveries FOR UPDATE SKIP LOCKED
    ) AS c
    WHERE e.id IS NULL OR NOT e.enabled
    LIMIT max_deliveries
  ), removed AS (
    DELETE FROM webhook_queue q USING entries e WHERE q.delivery_id = e.delivery_id
  )
  UPDATE webhook_deliveries d
  SET status = 'failed', next_attempt_at = NULL,
    last_error = CASE WHEN e.deleted THEN 'the endpoint was deleted' ELSE 'the endpoint was disabled' END
  FROM entries e WHERE d.id = e.delivery_id;
  GET DIAGNOSTICS abandoned = ROW_COUNT;
  RETURN abandoned;
END $$;

CREATE OR REPLACE FUNCTION gwk_count_traffic(low uuid, high uuid) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  counted integer;
BEGIN
  INSERT INTO account_traffic_hours
    (account_id, start, sent, failed, received, delivered, read, webhooks_succeeded, webhooks_failed)
  SELECT t.account_id, to_timestamp(t.hour * 3600.0), sum(t.sent), sum(t.failed), sum(t.received), sum(t.delivered),
    sum(t.read), sum(t.webhooks_succeeded), sum(t.webhooks_failed)
  FROM (
    SELECT m.account_id, gwk_id_hour(m.id) AS hour,
      count(*) FILTER (WHERE m.direction = 'outbound' AND m.sent_at IS NOT NULL) AS sent,
      count(*) FILTER (WHERE m.direction = 'outbound' AND m.failed_at IS NOT NULL) AS failed,
      count(*) FILTER (WHERE m.direction = 'inbound') AS received,
      count(*) FILTER (WHERE m.direction = 'outbound' AND m.delivered_at IS NOT NULL) AS delivered,
      count(*) FILTER (WHERE m.direction = 'outbound' AND m.read_at IS NOT NULL) AS read,
      0 AS webhooks_succeeded, 0 AS webhooks_failed
    FROM messages m WHERE m.id >= low AND m.id < high GROUP BY 1, 2
    UNION ALL
    SELECT d.account_id, gwk_id_hour(d.id), 0, 0, 0, 0, 0,
      count(*) FILTER (WHERE d.status = 'succeeded'), count(*) FILTER (WHERE d.status = 'failed')
    FROM webhook_deliveries d WHERE d.id >= low AND d.id < high GROUP BY 1, 2
  ) AS t JOIN accounts a ON a.id = t.account_id
  GROUP BY t.account_id, t.hour
  ON CONFLICT (account_id, start) DO UPDATE
  SET sent = excluded.sent, failed = excluded.failed, received = excluded.received, delivered = excluded.delivered,
    read = excluded.read, webhooks_succeeded = excluded.webhooks_succeeded, webhooks_failed = excluded.webhooks_failed;
  GET DIAGNOSTICS counted = ROW_COUNT;
  RETURN counted;
END $$;

CREATE OR REPLACE FUNCTION gwk_drop_partition(name text, small_bytes bigint, interval_ms integer) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  small boolean;
BEGIN
  IF to_regclass(name) IS NULL THEN
    RETURN 'missing';
  END IF;
  small := pg_total_relation_size(name::regclass) < small_bytes;
  IF NOT small THEN
    INSERT INTO maintenance_tasks AS t (task, done_at) VALUES ('drop a partition', clock_timestamp())
    ON CONFLICT (task) DO UPDATE SET done_at = EXCLUDED.done_at
    WHERE t.done_at NOT BETWEEN clock_timestamp() - interval_ms * interval '1 millisecond' AND clock_timestamp();
    IF NOT FOUND THEN
      RETURN 'deferred';
    END IF;
  END IF;
  EXECUTE format('DROP TABLE %s', name::regclass);
  RETURN CASE WHEN small THEN 'small' ELSE 'large' END;
END $$;

CREATE OR REPLACE FUNCTION gwk_due_scheduled(max_messages integer) RETURNS TABLE (
  message_id uuid, now timestamptz, instance_policy jsonb, account_policy jsonb, is_group boolean,
  last_wrote_at timestamptz
)
LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
  SELECT o.message_id, clock_timestamp(), i.policy, a.policy, v.group_id IS NOT NULL, v.last_wrote_at::timestamptz
  FROM (SELECT * FROM outbox s WHERE s.release_at <= now() AND s.state = 'scheduled'
        ORDER BY s.release_at, s.created_at, s.message_id LIMIT max_messages) AS o
  JOIN instances i ON i.id = o.instance_id
  JOIN accounts a ON a.id = i.account_id
  JOIN conversations v ON v.id = o.conversation_id
  ORDER BY o.release_at, o.created_at, o.message_id
$$;

CREATE OR REPLACE FUNCTION gwk_tune_autovacuum(relation regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  change text;
BEGIN
  EXECUTE (
    SELECT format('ALTER TABLE %s SET (autovacuum_vacuum_insert_threshold = -1), %s', relation,
      string_agg(format('ALTER COLUMN %I SET STATISTICS 10', a.attname), ', '))
    FROM pg_attribute a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped);
  FOR change IN
    SELECT format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS 10', i.indexrelid::regclass, a.attnum)
    FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indexrelid AND i.indkey[a.attnum - 1] = 0
    WHERE i.indrelid = relation
  LOOP
    EXECUTE change;
  END LOOP;
END $$;

SELECT gwk_tune_autovacuum(relation)
FROM unnest(ARRAY['message_contents', 'outbox', 'idempotency_records', 'mass_sends', 'messages_default']::regclass[]) AS relation;

CREATE OR REPLACE FUNCTION gwk_ensure_partitions(parent text, first_day date, last_day date) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  day date := first_day;
  name text;
  created integer := 0;
BEGIN
  WHILE day <= last_day LOOP
    name := format('%s_%s', parent, to_char(day, 'YYYYMMDD'));
    IF NOT EXISTS (
      SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = parent::regclass AND c.relname = name) THEN
      EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L) WITH (fillfactor = %s)', name, parent,
        gwk_lowest_id(day::timestamp AT TIME ZONE 'UTC'), gwk_lowest_id((day + 1)::timestamp AT TIME ZONE 'UTC'),
        CASE parent WHEN 'messages' THEN 80 ELSE 100 END);
      IF parent = 'messages' THEN
        PERFORM gwk_tune_autovacuum(name::regclass);
      END IF;
      created := created + 1;
    END IF;
    day := day + 1;
  END LOOP;
  RETURN created;
END $$;

SELECT gwk_ensure_partitions(parent, (now() AT TIME ZONE 'UTC')::date - 1, (now() AT TIME ZONE 'UTC')::date + 7)
FROM unnest(ARRAY['messages', 'events', 'webhook_deliveries']) AS parent;

CREATE OR REPLACE FUNCTION gwk_expired_partitions(parent text, before_day date) RETURNS SETOF text LANGUAGE sql STABLE AS $$
  SELECT format('%I.%I', n.nspname, c.relname) FROM pg_inherits i
  JOIN pg_class c ON c.oid = i.inhrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE i.inhparent = parent::regclass AND c.relname ~ '_[0-9]{8}$'
    AND to_date(right(c.relname, 8), 'YYYYMMDD') < before_day
  ORDER BY c.relname
$$;

CREATE OR REPLACE FUNCTION gwk_promote_heads(conversations uuid[]) RETURNS void
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

CREATE OR REPLACE FUNCTION gwk_release_scheduled(message_ids uuid[], new_times timestamptz[])
RETURNS TABLE (instance_id uuid, message_id uuid)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
#variable_conflict use_column
DECLARE
  released uuid[];
  postponed uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  PERFORM gwk_lock_conversations(message_ids);

  WITH entries AS (
    SELECT o.message_id, o.conversation_id, o.instance_id,
      row_number() OVER (PARTITION BY o.conversation_id ORDER BY o.created_at, o.message_id) AS rank
    FROM unnest(message_ids, new_times) AS r(id, new_time)
    JOIN outbox o ON o.message_id = r.id
    WHERE r.new_time IS NULL AND o.state = 'scheduled' AND o.release_at <= now()
  ), advanced AS (
    UPDATE conversations v SET last_seq = v.last_seq + e.amount
    FROM (SELECT n.conversation_id, count(*) AS amount FROM entries n GROUP BY n.conversation_id) AS e
    WHERE v.id = e.conversation_id
    RETURNING v.id, v.last_seq - e.amount AS before
  ), waiting AS (
    UPDATE outbox o
    SET state = 'waiting', seq = a.before + e.rank, release_at = NULL,
      offline_ms_at_start = i.offline_ms + CASE WHEN i.state = 'connected' THEN 0
        ELSE floor(extract(epoch FROM now() - i.state_changed_at) * 1000)::bigint END
    FROM entries e
    JOIN advanced a ON a.id = e.conversation_id
    JOIN instances i ON i.id = e.instance_id
    WHERE o.message_id = e.message_id
    RETURNING o.message_id
  )
  SELECT array_agg(w.message_id) INTO released FROM waiting w;
  PERFORM gwk_promote_heads(ARRAY(
    SELECT DISTINCT o.conversation_id FROM outbox o WHERE o.message_id = ANY (released)));

  WITH postponements AS (
    UPDATE outbox o SET release_at = r.new_time
    FROM unnest(message_ids, new_times) AS r(id, new_time)
    WHERE o.message_id = r.id AND r.new_time IS NOT NULL AND o.state = 'scheduled' AND o.release_at <= now()
    RETURNING o.message_id
  )
  SELECT array_agg(l.message_id) INTO postponed FROM postponements l;
  IF postponed IS NOT NULL THEN
    SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(postponed) AS s;
    UPDATE messages m SET scheduled_for = r.new_time, version = m.version + 1, updated_at = now()
    FROM unnest(message_ids, new_times) AS r(id, new_time)
    WHERE m.id = r.id AND m.id = ANY (postponed) AND m.id BETWEEN lowest AND highest;
  END IF;

  RETURN QUERY
  SELECT o.instance_id, o.message_id FROM outbox o WHERE o.message_id = ANY (released) AND o.head;
END $$;

CREATE OR REPLACE FUNCTION gwk_waiting_instances() RETURNS TABLE (
  instance_id uuid, state text, deleted boolean, offline_ms double precision, suspended_ms double precision
)
LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
  WITH RECURSIVE waiting(id) AS (
    (SELECT o.instance_id FROM outbox o WHERE o.head ORDER BY o.instance_id LIMIT 1)
    UNION ALL
    SELECT (SELECT o.instance_id FROM outbox o WHERE o.head AND o.instance_id > w.id ORDER BY o.instance_id LIMIT 1)
    FROM waiting w WHERE w.id IS NOT NULL
  )
  SELECT i.id, i.state, i.deleted_at IS NOT NULL,
    i.offline_ms + CASE WHEN i.state = 'connected' THEN 0
      ELSE floor(extract(epoch FROM now() - i.state_changed_at) * 1000) END::double precision,
    floor(extract(epoch FROM now() - a.suspended_at) * 1000)::double precision
  FROM waiting w
  JOIN instances i ON i.id = w.id
  JOIN accounts a ON a.id = i.account_id
$$;

CREATE OR REPLACE FUNCTION gwk_renotify(min_wait_ms integer, per_instance integer)
RETURNS TABLE (instance_id uuid, message_id uuid)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
#variable_conflict use_column
DECLARE
  before timestamptz := now() - min_wait_ms * interval '1 millisecond';
BEGIN
  RETURN QUERY
  WITH due AS MATERIALIZED (
    SELECT o.message_id
    FROM gwk_waiting_instances() AS w
    CROSS JOIN LATERAL (
      SELECT h.message_id, h.notified_at FROM outbox h
      WHERE h.instance_id = w.instance_id AND h.head AND h.prepared AND h.state = 'waiting' AND h.head_since <= before
      ORDER BY h.head_since, h.message_id LIMIT per_instance
    ) AS oldest
    JOIN outbox o ON o.message_id = oldest.message_id
    WHERE w.state = 'connected' AND NOT w.deleted AND w.suspended_ms IS NULL
      AND o.state = 'waiting' AND (o.notified_at IS NULL OR o.notified_at <= before)
    ORDER BY o.message_id FOR NO KEY UPDATE OF o SKIP LOCKED
  )
  UPDATE outbox o SET notified_at = now() FROM due d WHERE o.message_id = d.message_id
  RETURNING o.instance_id, o.message_id;
END $$;

CREATE OR REPLACE FUNCTION gwk_waiting_messages(
  instance uuid, max_offline_ms bigint, waiting_since timestamptz, accepted_until timestamptz, max_messages integer
)
RETURNS TABLE (message_id uuid)
LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
SET enable_sort = off
AS $$
  SELECT e.message_id
  FROM outbox h
  CROSS JOIN LATERAL (
    SELECT o.message_id FROM outbox o
    WHERE o.conversation_id = h.conversation_id AND o.seq >> 4 IS NOT NULL AND o.attempted_at IS NULL
      AND (o.offline_ms_at_start <= max_offline_ms AND coalesce(o.release_at, o.created_at) <= waiting_since
        OR o.created_at <= accepted_until)
    ORDER BY o.seq >> 4, o.seq LIMIT max_messages
  ) AS e
  WHERE h.instance_id = instance AND h.head
    AND (h.offline_ms_at_start <= max_offline_ms OR h.created_at <= accepted_until)
  ORDER BY h.head_since, h.message_id LIMIT max_messages
$$;

CREATE OR REPLACE FUNCTION gwk_count_media() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO account_usage AS u (account_id, media_bytes, media_files)
    SELECT n.account_id, sum(n.size), count(*) FROM new_rows n WHERE n.removed_at IS NULL
    GROUP BY n.account_id ORDER BY n.account_id
    ON CONFLICT (account_id) DO UPDATE
    SET media_bytes = u.media_bytes + excluded.media_bytes, media_files = u.media_files + excluded.media_files;
    RETURN NULL;
  END IF;
  PERFORM FROM account_usage u WHERE u.account_id IN (SELECT o.account_id FROM old_rows o)
  ORDER BY u.account_id FOR NO KEY UPDATE;
  IF TG_OP = 'DELETE' THEN
    UPDATE account_usage u SET media_bytes = u.media_bytes - r.bytes, media_files = u.media_files - r.files
    FROM (SELECT o.account_id, sum(o.size) AS bytes, count(*) AS files FROM old_rows o WHERE o.removed_at IS NULL
          GROUP BY o.account_id) AS r
    WHERE u.account_id = r.account_id;
  ELSE
    UPDATE account_usage u SET media_bytes = u.media_bytes - r.bytes, media_files = u.media_files - r.files
    FROM (SELECT o.account_id, sum(o.size) AS bytes, count(*) AS files FROM old_rows o JOIN new_rows n ON n.id = o.id
          WHERE o.removed_at IS NULL AND n.removed_at IS NOT NULL GROUP BY o.account_id) AS r
    WHERE u.account_id = r.account_id;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER media_inserted AFTER INSERT ON media
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION gwk_count_media();
CREATE OR REPLACE TRIGGER media_updated AFTER UPDATE ON media
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION gwk_count_media();
CREATE OR REPLACE TRIGGER media_deleted AFTER DELETE ON media
  REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION gwk_count_media();

CREATE OR REPLACE FUNCTION gwk_claim_preparations(free integer, per_host integer, lock_ms integer, busy jsonb)
RETURNS TABLE (
  message_id uuid, instance_id uuid, account_id uuid, type text, attempts integer, content_sealed bytea
) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH RECURSIVE waiting AS (
    (SELECT o.instance_id FROM outbox o WHERE NOT o.prepared ORDER BY o.instance_id LIMIT 1)
    UNION ALL
    SELECT (
      SELECT o.instance_id FROM outbox o WHERE NOT o.prepared AND o.instance_id > w.instance_id
      ORDER BY o.instance_id LIMIT 1)
    FROM waiting w WHERE w.instance_id IS NOT NULL
  ), due AS (
    SELECT i.account_id, d.message_id, d.head, d.created_at, d.prepare_host,
      COALESCE((busy->'hosts'->>d.prepare_host)::integer, 0) + row_number() OVER (
        PARTITION BY i.account_id, d.prepare_host ORDER BY d.head DESC, d.created_at, d.message_id) AS host_rank
    FROM waiting w
    JOIN instances i ON i.id = w.instance_id
    CROSS JOIN LATERAL (
      SELECT o.message_id, o.head, o.created_at, o.prepare_host FROM outbox o
      WHERE o.instance_id = w.instance_id AND NOT o.prepared AND (o.prepare_at IS NULL OR o.prepare_at <= now())
        AND COALESCE((busy->'hosts'->>o.prepare_host)::integer, 0) < per_host
      ORDER BY o.head DESC, o.created_at, o.message_id LIMIT free) d
  ), ranked AS (
    SELECT d.message_id, d.head, d.created_at,
      COALESCE((busy->'accounts'->>d.account_id::text)::integer, 0) + row_number() OVER (
        PARTITION BY d.account_id ORDER BY d.head DESC, d.created_at, d.message_id) AS rank
    FROM due d WHERE d.prepare_host IS NULL OR d.host_rank <= per_host
  ), ordered AS (
    SELECT r.message_id, r.head, r.rank, row_number() OVER (ORDER BY r.rank, r.created_at, r.message_id) AS place FROM ranked r
  ), chosen AS (
    SELECT o.message_id FROM outbox o
    WHERE o.message_id IN (
      SELECT p.message_id FROM ordered p
      WHERE p.place <= free
        AND (p.rank = 1 OR p.rank * CASE WHEN p.head THEN 1 ELSE 2 END <= free - p.place))
    AND NOT o.prepared AND (o.prepare_at IS NULL OR o.prepare_at <= now())
    FOR UPDATE SKIP LOCKED
  ), claimed AS (
    UPDATE outbox o
    SET prepare_at = now() + lock_ms * interval '1 millisecond', prepare_attempts = o.prepare_attempts + 1
    FROM chosen c WHERE o.message_id = c.message_id
    RETURNING o.message_id, o.instance_id, o.prepare_attempts, o.head, o.created_at
  )
  SELECT t.message_id, t.instance_id, m.account_id, m.type, t.prepare_attempts, c.content_sealed
  FROM claimed t
  JOIN messages m ON m.id = t.message_id
  LEFT JOIN message_contents c ON c.message_id = t.message_id
  ORDER BY t.head DESC, t.created_at, t.message_id;
END $$;

CREATE OR REPLACE FUNCTION gwk_finish_preparation(message uuid, content bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  at_head boolean;
BEGIN
  PERFORM gwk_lock_conversations(ARRAY[message]);
  UPDATE outbox o SET prepared = true, prepare_at = NULL
  WHERE o.message_id = message AND NOT o.prepared
  RETURNING o.head INTO at_head;
  IF FOUND THEN
    UPDATE message_contents c SET content_sealed = content WHERE c.message_id = message;
  END IF;
  RETURN at_head;
END $$;

CREATE OR REPLACE FUNCTION gwk_queue_media_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.removed_at IS NULL AND (TG_OP = 'DELETE' OR NEW.removed_at IS NOT NULL) THEN
    INSERT INTO store_removals (store_key, due_at) VALUES (OLD.store_key, date_trunc('milliseconds', now()))
    ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER media_removed AFTER DELETE OR UPDATE OF removed_at ON media
  FOR EACH ROW EXECUTE FUNCTION gwk_queue_media_removal();

CREATE OR REPLACE FUNCTION gwk_recount_media(account uuid) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  bytes bigint;
  files integer;
  wrong boolean;
BEGIN
  SELECT true INTO wrong FROM account_usage u WHERE u.account_id = account FOR NO KEY UPDATE;
  SELECT coalesce(sum(m.size), 0), count(*) INTO bytes, files
  FROM media m WHERE m.account_id = account AND m.removed_at IS NULL;
  SELECT (u.media_bytes, u.media_files) IS DISTINCT FROM (bytes, files) INTO wrong
  FROM account_usage u WHERE u.account_id = account;
  UPDATE account_usage u SET media_bytes = bytes, media_files = files, recounted_at = now()
  WHERE u.account_id = account;
  RETURN wrong IS TRUE;
END $$;

CREATE OR REPLACE FUNCTION gwk_storage_fits(
  account uuid, new_bytes bigint, default_bytes bigint, default_files bigint, factor integer
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO account_usage (account_id) VALUES (account) ON CONFLICT DO NOTHING;
  PERFORM FROM account_usage u WHERE u.account_id = account FOR NO KEY UPDATE;
  RETURN EXISTS (
    SELECT FROM account_usage u JOIN accounts a ON a.id = u.account_id
    WHERE u.account_id = account
      AND u.media_bytes + new_bytes <= coalesce(a.max_media_bytes, default_bytes) * factor
      AND u.media_files < coalesce(a.max_media_files, default_files) * factor);
END $$;

CREATE OR REPLACE FUNCTION gwk_failed_messages(
  account uuid, instance_filter uuid[], type_filter text, low uuid, high uuid, max_rows integer
)
RETURNS SETOF messages LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT n.* FROM messages n
  WHERE (n.account_id, n.id) >= (account, low) AND (n.account_id, n.id) < (account, high)
    AND n.id >= low AND n.id < high AND n.failed_at IS NOT NULL AND n.status = 'failed'
    AND (instance_filter IS NULL OR n.instance_id = ANY (instance_filter))
    AND (type_filter IS NULL OR n.type = type_filter)
  ORDER BY n.account_id DESC, n.id DESC LIMIT max_rows;
END $$;

CREATE OR REPLACE FUNCTION gwk_find_authored(
  instance_ids uuid[], conversation_ids uuid[], wa_message_ids text[], directions text[], participants jsonb
) RETURNS uuid[]
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
DECLARE
  first CONSTANT uuid := gwk_lowest_id(to_timestamp(0));
  since uuid := gwk_lowest_id(now() - interval '3 days');
  until uuid := gwk_lowest_id(now() + interval '1 day');
  ids uuid[];
BEGIN
  WHILE ids IS NULL OR array_position(ids, NULL) IS NOT NULL LOOP
    ids := ARRAY(
      SELECT COALESCE(ids[q.place], (
        SELECT m.id FROM messages m
        WHERE gwk_equals_by_hash(m.wa_message_id, q.wa_message_id)
          AND m.instance_id = q.instance_id AND m.id >= since AND m.id < until
          AND m.conversation_id = q.conversation_id
          AND (q.direction IS NULL OR m.direction = q.direction)
          AND (jsonb_typeof(participants -> (q.place - 1)::integer) IS DISTINCT FROM 'array'
            OR participants -> (q.place - 1)::integer ? m.participant)
        ORDER BY gwk_hash_high(m.wa_message_id) LIMIT 1))
      FROM unnest(instance_ids, conversation_ids, wa_message_ids, directions) WITH ORDINALITY
        AS q(instance_id, conversation_id, wa_message_id, direction, place)
      ORDER BY q.place);
    EXIT WHEN since = first;
    until := since;
    since := first;
  END LOOP;
  RETURN ids;
END $$;

CREATE OR REPLACE FUNCTION gwk_find_messages(
  message_ids uuid[], instance_ids uuid[], conversation_ids uuid[], wa_message_ids text[]
) RETURNS uuid[]
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
DECLARE
  first CONSTANT uuid := gwk_lowest_id(to_timestamp(0));
  since uuid := gwk_lowest_id(now() - interval '3 days');
  until uuid := gwk_lowest_id(now() + interval '1 day');
  ids uuid[] := message_ids;
BEGIN
  WHILE ids IS NULL OR array_position(ids, NULL) IS NOT NULL LOOP
    ids := ARRAY(
      SELECT COALESCE(q.id, (
        SELECT m.id FROM messages m
        WHERE gwk_equals_by_hash(m.wa_message_id, q.wa_message_id)
          AND m.instance_id = q.instance_id AND m.id >= since AND m.id < until
          AND CASE WHEN q.conversation_id IS NULL THEN m.direction = 'outbound'
            ELSE m.conversation_id = q.conversation_id END
        ORDER BY gwk_hash_high(m.wa_message_id) LIMIT 1))
      FROM unnest(ids, instance_ids, conversation_ids, wa_message_ids) WITH ORDINALITY
        AS q(id, instance_id, conversation_id, wa_message_id, place)
      ORDER BY q.place);
    EXIT WHEN since = first;
    until := since;
    since := first;
  END LOOP;
  RETURN ids;
END $$;

CREATE OR REPLACE FUNCTION gwk_message_facts(ids uuid[]) RETURNS TABLE (
  number integer, now timestamptz, message messages, group_id text, lid text, phone text, username text,
  claim_id uuid, claim_epoch integer, claim_holder uuid, attempted_at timestamptz
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
  SELECT requested.number::integer, clock_timestamp(), m, v.group_id, v.lid, v.phone, v.username,
    o.claim_id, o.claim_epoch, o.claim_holder, o.attempted_at::timestamptz
  FROM unnest(ids) WITH ORDINALITY AS requested(id, number)
  JOIN messages m ON m.id = requested.id AND m.id = ANY (ids) AND m.id BETWEEN lowest AND highest
    AND m.direction = 'outbound'
  JOIN conversations v ON v.id = m.conversation_id
  LEFT JOIN outbox o ON o.message_id = m.id;
END $$;

CREATE OR REPLACE FUNCTION gwk_messages_of_account(
  account uuid, status_filter text, type_filter text, low uuid, high uuid, max_rows integer
)
RETURNS SETOF messages LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  IF type_filter <> 'text' THEN
    RETURN QUERY
    SELECT n.* FROM messages n
    WHERE (n.account_id, n.type, gwk_id_bucket_256ms(n.id)) >= (account, type_filter, gwk_id_bucket_256ms(low))
      AND (n.account_id, n.type, gwk_id_bucket_256ms(n.id)) <= (account, type_filter, gwk_id_bucket_256ms(high))
      AND n.type <> 'text' AND n.id >= low AND n.id < high AND (status_filter IS NULL OR n.status = status_filter)
    ORDER BY n.account_id DESC, n.type DESC, gwk_id_bucket_256ms(n.id) DESC, n.id DESC LIMIT max_rows;
    RETURN;
  END IF;
  RETURN QUERY
  SELECT n.* FROM messages n
  WHERE (n.account_id, gwk_id_bucket_256ms(n.id)) >= (account, gwk_id_bucket_256ms(low))
    AND (n.account_id, gwk_id_bucket_256ms(n.id)) <= (account, gwk_id_bucket_256ms(high))
    AND n.id >= low AND n.id < high AND (status_filter IS NULL OR n.status = status_filter)
    AND (type_filter IS NULL OR n.type = type_filter)
  ORDER BY n.account_id DESC, gwk_id_bucket_256ms(n.id) DESC, n.id DESC LIMIT max_rows;
END $$;

CREATE OR REPLACE FUNCTION gwk_messages_of_conversation(
  conversation uuid, status_filter text, type_filter text, low uuid, high uuid, max_rows integer
)
RETURNS SETOF messages LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
DECLARE
  days integer[] := (SELECT v.days FROM conversations v WHERE v.id = conversation);
  first_day integer := gwk_id_day(low);
  last_day integer := gwk_id_day(high);
  place integer := cardinality(days);
  max_days integer := 1;
  min_place integer;
  since uuid;
  until uuid;
  returned_rows integer;
BEGIN
  WHILE days[place] > last_day LOOP
    place := place - 1;
  END LOOP;
  WHILE days[place] >= first_day AND max_rows > 0 LOOP
    until := LEAST(high, gwk_lowest_id(to_timestamp((days[place] + 1) * 86400.0)));
    min_place := place - max_days + 1;
    WHILE place > min_place AND days[place - 1] = days[place] - 1 LOOP
      place := place - 1;
    END LOOP;
    since := GREATEST(low, gwk_lowest_id(to_timestamp(days[place] * 86400.0)));
    RETURN QUERY
    SELECT n.* FROM messages n
    WHERE (n.conversation_id, gwk_id_bucket_4s(n.id)) >= (conversation, gwk_id_bucket_4s(since))
      AND (n.conversation_id, gwk_id_bucket_4s(n.id)) <= (conversation, gwk_id_bucket_4s(until))
      AND n.id >= since AND n.id < until AND (status_filter IS NULL OR n.status = status_filter)
      AND (type_filter IS NULL OR n.type = type_filter)
    ORDER BY n.conversation_id DESC, gwk_id_bucket_4s(n.id) DESC, n.id DESC LIMIT max_rows;
    GET DIAGNOSTICS returned_rows = ROW_COUNT;
    max_rows := max_rows - returned_rows;
    place := place - 1;
    max_days := LEAST(max_days * 2, 32);
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION gwk_messages_of_conversations(
  conversations uuid[], status_filter text, type_filter text, low uuid, high uuid, max_rows integer
)
RETURNS SETOF messages LANGUAGE sql STABLE
AS $$
  SELECT m.* FROM unnest(conversations) AS owner(id)
  CROSS JOIN LATERAL gwk_messages_of_conversation(owner.id, status_filter, type_filter, low, high, max_rows) AS m
  ORDER BY m.id DESC LIMIT max_rows
$$;

CREATE OR REPLACE FUNCTION gwk_messages_of_instances(
  instances uuid[], status_filter text, type_filter text, low uuid, high uuid, max_rows integer
)
RETURNS SETOF messages LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT m.* FROM unnest(instances) AS owner(id)
  CROSS JOIN LATERAL (
    SELECT n.* FROM messages n
    WHERE (n.instance_id, gwk_id_bucket_256ms(n.id)) >= (owner.id, gwk_id_bucket_256ms(low))
      AND (n.instance_id, gwk_id_bucket_256ms(n.id)) <= (owner.id, gwk_id_bucket_256ms(high))
      AND n.id >= low AND n.id < high AND (status_filter IS NULL OR n.status = status_filter)
      AND (type_filter IS NULL OR n.type = type_filter)
    ORDER BY n.instance_id DESC, gwk_id_bucket_256ms(n.id) DESC, n.id DESC LIMIT max_rows) AS m
  ORDER BY m.id DESC LIMIT max_rows;
END $$;

CREATE OR REPLACE FUNCTION gwk_quoted_messages(ids uuid[], event_ids uuid[]) RETURNS TABLE (
  id uuid, account_id uuid, instance_id uuid, direction text, wa_message_id text, participant text, type text,
  deleted boolean, conversation_id uuid, "to" text, group_id text, lid text, phone text, content_sealed bytea, event_sealed bytea,
  card_sealed bytea
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
  SELECT m.id, m.account_id, m.instance_id, m.direction, m.wa_message_id, m.participant, m.type, m.deleted_for_all,
    m.conversation_id, m."to", v.group_id, v.lid, v.phone, k.content_sealed,
    CASE WHEN m.direction = 'inbound' OR m.edit_event_id IS NOT NULL THEN (
      SELECT e.data_sealed FROM events e
      WHERE e.id = COALESCE(m.edit_event_id, requested.event_id) AND e.instance_id = m.instance_id) END,
    d.card_sealed
  FROM unnest(ids, event_ids) AS requested(id, event_id)
  JOIN messages m ON m.id = requested.id AND m.id = ANY (ids) AND m.id BETWEEN lowest AND highest
  JOIN conversations v ON v.id = m.conversation_id
  LEFT JOIN message_contents k ON k.message_id = m.id AND m.direction = 'outbound'
  LEFT JOIN message_cards d ON d.message_id = m.id AND NOT m.deleted_for_all;
END $$;

CREATE OR REPLACE FUNCTION gwk_mass_window(instance_policy jsonb, account_policy jsonb, environment_minutes integer)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN jsonb_typeof(instance_policy -> 'mass_block') = 'object'
      THEN coalesce((instance_policy #>> '{mass_block,window_minutes}')::integer, 60)
    WHEN jsonb_typeof(account_policy -> 'mass_block') = 'object'
      THEN coalesce((account_policy #>> '{mass_block,window_minutes}')::integer, 60)
    ELSE environment_minutes
  END
$$;

CREATE OR REPLACE FUNCTION gwk_accept_gather(requests jsonb, environment_mass_minutes integer) RETURNS TABLE (
  at double precision,
  instance_version text, state text, offline_ms double precision, warm_up_from double precision,
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
  now_at timestamptz := clock_timestamp();
  day_ago timestamptz := now_at - interval '24 hours';
  reply_ids uuid[] := ARRAY(SELECT q.reply_id FROM jsonb_to_recordset(requests) AS q(reply_id uuid));
  replies_ok boolean[];
  lowest uuid;
  highest uuid;
  files text[];
BEGIN
  IF cardinality(array_remove(reply_ids, NULL)) > 0 THEN
    SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(reply_ids) AS s;
    replies_ok := ARRAY(
      SELECT (
        SELECT m.status IN ('sent', 'delivered', 'read') FROM messages m
        WHERE m.id = q.reply_id AND m.id BETWEEN lowest AND highest AND m.instance_id = q.instance_id LIMIT 1) IS TRUE
      FROM ROWS FROM (jsonb_to_recordset(requests) AS (reply_id uuid, instance_id uuid))
        WITH ORDINALITY AS q(reply_id, instance_id, place)
      ORDER BY q.place);
  END IF;
  IF (SELECT true FROM jsonb_to_recordset(requests) AS q(media_id uuid) WHERE q.media_id IS NOT NULL LIMIT 1) THEN
    files := ARRAY(
      SELECT (
        SELECT v.instance_ids::text FROM media v
        WHERE v.id = q.media_id AND v.account_id = q.account_id AND v.message_id IS NULL
          AND v.expires_at > now_at AND v.removed_at IS NULL
        LIMIT 1)
      FROM ROWS FROM (jsonb_to_recordset(requests) AS (media_id uuid, account_id uuid))
        WITH ORDINALITY AS q(media_id, account_id, place)
      ORDER BY q.place);
  END IF;
  RETURN QUERY
  SELECT (extract(epoch FROM now_at) * 1000)::double precision,
    i.version, i.state,
    (i.offline_ms + CASE WHEN i.state = 'connected' THEN 0
      ELSE extract(epoch FROM now_at - i.state_changed_at) * 1000 END)::double precision,
    (extract(epoch FROM CASE WHEN i.kind = 'sandbox' THEN i.created_at ELSE i.first_paired_at END) * 1000)::double precision,
    (extract(epoch FROM i.restricted_until) * 1000)::double precision,
    i.policy::text, a.version, a.policy::text, a.suspended_at IS NOT NULL,
    r.body_hash, r.resource_id, r.response_sealed,
    n.contact_id, n.opted_out, c.id, c.first_sent_at IS NOT NULL,
    (extract(epoch FROM c.last_wrote_at) * 1000)::double precision,
    coalesce(oldest.count, 0)::integer, (extract(epoch FROM oldest.first_sent_at) * 1000)::double precision,
    mass.contacts, mass.counted,
    q.reply_id IS NULL OR replies_ok[q.place],
    files[q.place] IS NOT NULL, files[q.place]::text[]
  FROM ROWS FROM (jsonb_to_recordset(requests) AS (
    account_id uuid, instance_id uuid, name text, exact text, is_group boolean, record_id uuid, fingerprint uuid, reply_id uuid
  )) WITH ORDINALITY AS q(account_id, instance_id, name, exact, is_group, record_id, fingerprint, reply_id, place)
  LEFT JOIN LATERAL (
    SELECT v.xmin::text AS version, v.policy, v.suspended_at FROM accounts v WHERE v.id = q.account_id LIMIT 1
  ) a ON true
  LEFT JOIN LATERAL (
    SELECT v.xmin::text AS version, v.state, v.state_changed_at, v.offline_ms, v.kind, v.created_at, v.first_paired_at,
      v.restricted_until, v.policy
    FROM instances v
    WHERE v.id = q.instance_id AND v.account_id = q.account_id AND v.deleted_at IS NULL LIMIT 1
  ) i ON true
  LEFT JOIN LATERAL (
    SELECT v.body_hash, v.resource_id, v.response_sealed FROM idempotency_records v
    WHERE v.id = q.record_id AND v.expires_at > now_at LIMIT 1
  ) r ON true
  LEFT JOIN LATERAL (
    SELECT v.contact_id, (SELECT true FROM opt_outs o WHERE o.contact_id = v.contact_id LIMIT 1) IS TRUE
      AND gwk_opted_out(v.contact_id, q.instance_id) AS opted_out
    FROM contact_names v WHERE NOT q.is_group AND v.account_id = q.account_id AND v.name = coalesce(
      (SELECT e.name FROM contact_names e WHERE e.account_id = q.account_id AND e.name = q.exact), q.name) LIMIT 1
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
        SELECT l.new_contacts - v.first_sent_no + 1 FROM instance_counters l WHERE l.instance_id = v.instance_id LIMIT 1
      ) AS count
    FROM conversations v
    WHERE NOT q.is_group AND c.first_sent_at IS NULL AND c.last_wrote_at IS NULL
      AND v.instance_id = q.instance_id AND v.first_sent_at > day_ago
    ORDER BY v.first_sent_at, v.first_sent_no LIMIT 1
  ) oldest ON true
  LEFT JOIN LATERAL (
    SELECT count(*)::integer AS contacts, coalesce(bool_or(s.contact_id = n.contact_id), false) AS counted
    FROM mass_sends s
    WHERE NOT q.is_group AND c.last_wrote_at IS NULL AND s.fingerprint = q.fingerprint
      AND s.at > now_at - make_interval(mins => gwk_mass_window(i.policy, a.policy, environment_mass_minutes))
  ) mass ON true
  ORDER BY q.place;
END $$;

CREATE OR REPLACE FUNCTION gwk_accept_write(
  batch jsonb, contents bytea[], body_hashes bytea[], responses bytea[], skip_locked boolean,
  OUT written boolean[], OUT text_counts integer[], OUT counters uuid[], OUT text_totals bigint[],
  OUT originals uuid[]
) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET lock_timeout = '200ms'
AS $$
DECLARE
  places integer[] := batch->>'places';
  message_ids uuid[] := batch->>'message_ids';
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
  new_contact_limits integer[] := batch->>'new_contact_limits';
  new_contact_ranks integer[] := batch->>'new_contact_ranks';
  fingerprints uuid[] := batch->>'fingerprints';
  mass_limits integer[] := batch->>'mass_limits';
  mass_ranks integer[] := batch->>'mass_ranks';
  mass_minutes integer[] := batch->>'mass_minutes';
  mass_counts integer[] := batch->>'mass_counts';
  mass_text_totals bigint[] := batch->>'mass_text_totals';
  unprepared uuid[] := batch->>'unprepared';
  locked_counters uuid[] := batch->>'locked_counters';
  locked_conversations uuid[] := batch->>'locked_conversations';
  locked_contacts uuid[] := batch->>'locked_contacts';
  ranks integer[] := batch->>'ranks';
  chats uuid[] := batch->>'chats';
  chat_first_places integer[] := batch->>'chat_first_places';
  chat_seq_counts integer[] := batch->>'chat_seq_counts';
  chat_new_contact_numbers integer[] := batch->>'chat_new_contact_numbers';
  added_new_contacts integer[] := batch->>'added_new_contacts';
  added_texts integer[] := batch->>'added_texts';
  group_days integer[] := batch->>'group_days';
  new_contact_count integer := batch->>'new_contact_count';
  new_conversation_count integer := batch->>'new_conversation_count';
  new_key_count integer := batch->>'new_key_count';
  counter_ids uuid[] := locked_counters;
  new_contact_totals bigint[];
  found_conversations uuid[];
  conversation_contacts uuid[];
  conversations_counted boolean[];
  conversations_last_wrote timestamptz[];
  last_seqs bigint[];
  found_contacts uuid[];
  found_contact_accounts uuid[];
  key_ids uuid[];
  key_hashes bytea[];
  key_messages uuid[];
  inserted integer;
  now_at timestamptz;
BEGIN
  BEGIN
    IF skip_locked THEN
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
    IF locked_contacts <> '{}' THEN
      SELECT array_agg(l.id), array_agg(l.account_id) INTO found_contacts, found_contact_accounts
      FROM (
        SELECT c.id, c.account_id FROM contacts c WHERE c.id = ANY (locked_contacts) ORDER BY c.id FOR KEY SHARE
      ) AS l;
    END IF;

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
      SELECT s.*, CASE
          WHEN mass_limits[s.i] IS NULL THEN NULL
          WHEN s.new_texts >= 0 AND mass_limits[s.i] >= mass_ranks[s.i] + mass_counts[s.i] + s.new_texts
            THEN mass_counts[s.i] + s.new_texts
          ELSE (
            SELECT count(*) FROM mass_sends v
            WHERE v.fingerprint = fingerprints[s.i]
              AND v.at > now_at - make_interval(mins => mass_minutes[s.i])) END AS text_count
      FROM (
        SELECT p.*, text_totals[p.counter_place] - mass_text_totals[p.i] AS new_texts
        FROM (
          SELECT i, instance_places[i] AS instance_place, account_places[i] AS account_place,
            array_position(found_conversations, conversation_ids[i]) AS conversation_place,
            array_position(counters, instance_ids[i]) AS counter_place,
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
      counters := NULL;
      RETURN;
    END IF;

    IF skip_locked THEN
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

CREATE OR REPLACE FUNCTION gwk_update_messages(
  instance_ids uuid[], epochs integer[], holders uuid[], changes jsonb, events jsonb
) RETURNS TABLE (updated uuid[], refusals text[], waiting boolean[])
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
DECLARE
  ids uuid[] := ARRAY(SELECT c.id FROM jsonb_to_recordset(changes) AS c(id uuid));
  queued uuid[] := ARRAY(
    SELECT c.id FROM jsonb_to_recordset(changes) AS c(id uuid, queue text) WHERE c.queue <> 'keep');
  finished uuid[];
  headless uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  refusals := gwk_fence(instance_ids, epochs, holders);
  SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(ids) AS s;
  IF queued <> '{}' THEN
    PERFORM gwk_lock_conversations(queued);
  END IF;

  updated := ARRAY(
    SELECT m.id FROM messages m
    JOIN jsonb_to_recordset(changes) AS c(id uuid, version integer, place integer, needs text) ON c.id = m.id
    WHERE m.version = c.version AND m.id = ANY (ids) AND m.id BETWEEN lowest AND highest
      AND refusals[c.place] IS DISTINCT FROM 'fenced' AND (c.needs IS NULL OR EXISTS (
        SELECT FROM outbox o
        WHERE o.message_id = c.id AND CASE c.needs
          WHEN 'claim' THEN o.state = 'claimed' AND o.claim_epoch = epochs[c.place] AND o.claim_holder = holders[c.place]
          ELSE o.attempted_at IS NULL END))
    ORDER BY m.id FOR NO KEY UPDATE OF m);

  UPDATE messages m
  SET status = c.status, sent_at = c.sent_at, delivered_at = c.delivered_at, read_at = c.read_at,
    failed_at = c.failed_at, error_code = c.error_code, error_message = c.error_message,
    rendered_as = c.rendered_as, played = c.played, version = m.version + 1, updated_at = now()
  FROM jsonb_populate_recordset(NULL::messages, changes) AS c
  WHERE m.id = c.id AND m.id = ANY (updated) AND m.id BETWEEN lowest AND highest;

  IF queued <> '{}' THEN
    WITH removed AS (
      DELETE FROM outbox o
      USING jsonb_to_recordset(changes) AS c(id uuid, queue text)
      WHERE o.message_id = c.id AND c.queue = 'finish' AND c.id = ANY (updated)
      RETURNING o.conversation_id, o.head
    )
    SELECT array_agg(g.conversation_id) FILTER (WHERE g.head) INTO headless FROM removed g;
    PERFORM gwk_promote_heads(headless);

    IF changes @> '[{"queue": "return"}]' THEN
      UPDATE outbox o
      SET state = 'waiting', claim_id = NULL, claim_epoch = NULL, claim_holder = NULL, claimed_at = NULL,
        attempted_at = CASE WHEN c.status = 'queued' THEN NULL ELSE o.attempted_at END
      FROM jsonb_to_recordset(changes) AS c(id uuid, queue text, status text)
      WHERE o.message_id = c.id AND c.queue = 'return' AND c.id = ANY (updated);
    END IF;

    finished := ARRAY(
      SELECT c.id FROM jsonb_to_recordset(changes) AS c(id uuid, queue text)
      WHERE c.queue = 'finish' AND c.id = ANY (updated));
    UPDATE message_contents c SET delete_at = now() + interval '24 hours' WHERE c.message_id = ANY (finished);

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

  PERFORM gwk_emit(events, updated);
  waiting := ARRAY(
    SELECT EXISTS (
      SELECT FROM outbox o WHERE o.instance_id = i.id AND o.head AND o.prepared AND o.state = 'waiting')
      OR EXISTS (
        SELECT FROM outbox o WHERE o.instance_id = i.id AND o.claim_id IS NOT NULL AND o.head AND o.prepared
          AND (o.claim_epoch, o.claim_holder) IS DISTINCT FROM (i.epoch, i.holder))
    FROM unnest(instance_ids, epochs, holders) WITH ORDINALITY AS i(id, epoch, holder, place)
    ORDER BY i.place);
  RETURN NEXT;
END $$;

CREATE OR REPLACE FUNCTION gwk_failed_deliveries(
  endpoint uuid, after_id uuid, since timestamptz, until timestamptz, visible_instances uuid[]
) RETURNS SETOF webhook_deliveries LANGUAGE sql STABLE AS $$
  SELECT d.* FROM webhook_deliveries d
  WHERE d.endpoint_id = endpoint AND d.status = 'failed'
    AND d.id > after_id AND d.id < gwk_lowest_id(until + interval '1 minute') AND d.created_at BETWEEN since AND until
    AND (visible_instances IS NULL OR d.instance_id IS NULL OR d.instance_id = ANY (visible_instances))
$$;

CREATE OR REPLACE FUNCTION gwk_requeue_deliveries(ids uuid[]) RETURNS SETOF uuid
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
BEGIN
  RETURN QUERY
  WITH ended AS MATERIALIZED (
    SELECT d.id, d.endpoint_id, d.event_id
    FROM unnest(ids) AS i(id) JOIN webhook_deliveries d ON d.id = i.id
    WHERE d.status <> 'pending'
    ORDER BY d.id FOR NO KEY UPDATE OF d
  ), queued AS (
    INSERT INTO webhook_queue (delivery_id, endpoint_id, event_id, due_at)
    SELECT e.id, e.endpoint_id, e.event_id, now() FROM ended e
  )
  UPDATE webhook_deliveries d SET status = 'pending', next_attempt_at = now(), delivered_at = NULL
  FROM ended e WHERE d.id = e.id
  RETURNING d.id;
END $$;

CREATE OR REPLACE FUNCTION gwk_continue_resend(resend uuid, max_deliveries integer) RETURNS integer
LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  job webhook_resends;
  batch uuid[];
BEGIN
  SELECT * INTO job FROM webhook_resends r WHERE resend IS NULL OR r.id = resend
  ORDER BY r.touched_at LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  batch := ARRAY(
    SELECT f.id FROM gwk_failed_deliveries(job.endpoint_id, job.after_id, job.since, job.until,
      CASE WHEN job.restricted THEN job.instance_ids END) AS f
    ORDER BY f.id LIMIT max_deliveries);
  IF cardinality(batch) < max_deliveries THEN
    DELETE FROM webhook_resends WHERE id = job.id;
  ELSE
    UPDATE webhook_resends SET after_id = batch[max_deliveries], touched_at = clock_timestamp() WHERE id = job.id;
  END IF;
  RETURN (SELECT count(*) FROM gwk_requeue_deliveries(batch));
END $$;

CREATE OR REPLACE FUNCTION gwk_deliveries_of_endpoint(
  endpoint uuid, status_filter text, instance_filter uuid[], low uuid, high uuid, max_rows integer
)
RETURNS SETOF webhook_deliveries LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  IF status_filter = 'failed' THEN
    RETURN QUERY
    SELECT n.* FROM webhook_deliveries n
    WHERE (n.endpoint_id, n.id) >= (endpoint, low) AND (n.endpoint_id, n.id) < (endpoint, high)
      AND n.id >= low AND n.id < high AND n.status = 'failed'
      AND (instance_filter IS NULL OR n.instance_id = ANY (instance_filter) OR n.instance_id IS NULL)
    ORDER BY n.endpoint_id DESC, n.id DESC LIMIT max_rows;
  ELSE
    RETURN QUERY
    SELECT n.* FROM webhook_deliveries n
    WHERE (n.endpoint_id, n.id) >= (endpoint, low) AND (n.endpoint_id, n.id) < (endpoint, high)
      AND n.id >= low AND n.id < high AND (status_filter IS NULL OR n.status = status_filter)
      AND (instance_filter IS NULL OR n.instance_id = ANY (instance_filter) OR n.instance_id IS NULL)
    ORDER BY n.endpoint_id DESC, n.id DESC LIMIT max_rows;
  END IF;
END $$;

CREATE OR REPLACE FUNCTION gwk_deliveries_of_message(message uuid, max_rows integer)
RETURNS SETOF webhook_deliveries LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
DECLARE
  low CONSTANT uuid := gwk_lowest_id(to_timestamp(gwk_id_hour(message) * 3600.0 - 86400));
BEGIN
  RETURN QUERY
  SELECT d.* FROM webhook_deliveries d
  WHERE gwk_id_bucket_256ms(d.message_id) = gwk_id_bucket_256ms(message) AND d.message_id = message AND d.id >= low
  ORDER BY d.id LIMIT max_rows;
END $$;

CREATE OR REPLACE FUNCTION gwk_claim_webhooks(
  lock uuid, lock_ms integer, busy uuid[], busy_counts integer[], slow uuid[],
  per_endpoint integer, max_deliveries integer, max_unreliable integer
) RETURNS TABLE (
  delivery_id uuid, endpoint_id uuid, event_id uuid, earlier_attempts integer, account_id uuid, url text, enabled boolean,
  failing_since timestamptz, last_failed_at timestamptz,
  event_type text, event_at timestamptz, event_data bytea, out_of_scope boolean, codes_author jsonb, secrets text, headers_sealed bytea
) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_bitmapscan = off SET enable_material = off
AS $$
#variable_conflict use_column
DECLARE
  claimed_ids uuid[];
BEGIN
  IF NOT EXISTS (SELECT FROM webhook_queue q WHERE q.due_at <= now()) THEN
    RETURN;
  END IF;

  WITH candidates AS (
    SELECT c.delivery_id, c.due_at, w.id,
      e.failing_since IS NOT NULL OR w.id = ANY (slow) AS unreliable,
      row_number() OVER (PARTITION BY w.id ORDER BY c.due_at) AS rank
    FROM gwk_queued_endpoints() AS w
    JOIN webhook_endpoints e ON e.id = w.id
    LEFT JOIN unnest(busy, busy_counts) AS b(id, amount) ON b.id = w.id
    CROSS JOIN LATERAL (
      SELECT q.delivery_id, q.due_at FROM webhook_queue q
      WHERE q.endpoint_id = w.id AND q.due_at <= now() AND (q.locked_until IS NULL OR q.locked_until <= now())
        AND (e.enabled OR (q.attempts = 0 AND q.due_at > e.disabled_at))
      ORDER BY q.due_at LIMIT greatest(0, least(per_endpoint - coalesce(b.amount, 0), max_deliveries))
      FOR UPDATE SKIP LOCKED
    ) AS c
    WHERE w.first_due <= now()
  ), chosen AS (
    SELECT p.delivery_id
    FROM (SELECT c.*, row_number() OVER (PARTITION BY c.unreliable ORDER BY c.rank, c.due_at) AS place
          FROM candidates c) AS p
    WHERE NOT p.unreliable OR p.place <= max_unreliable
    ORDER BY p.rank, p.due_at LIMIT max_deliveries
  ), locked AS (
    UPDATE webhook_queue q SET locked_by = lock, locked_until = now() + lock_ms * interval '1 millisecond'
    FROM chosen c WHERE q.delivery_id = c.delivery_id
    RETURNING q.delivery_id
  )
  SELECT array_agg(l.delivery_id) INTO claimed_ids FROM locked l;

  RETURN QUERY
  SELECT q.delivery_id, q.endpoint_id, q.event_id, q.attempts, e.account_id, e.url, e.enabled,
    e.failing_since::timestamptz, e.last_failed_at::timestamptz,
    v.type, v."timestamp"::timestamptz, v.data_sealed,
    v.instance_id IS NOT NULL
      AND EXISTS (SELECT FROM webhook_endpoint_instances r WHERE r.endpoint_id = e.id)
      AND NOT EXISTS (SELECT FROM webhook_endpoint_instances r
                      WHERE r.endpoint_id = e.id AND r.instance_id = v.instance_id),
    CASE WHEN v.type = 'instance.qr' THEN coalesce(
      (SELECT jsonb_build_object('role', 'owner') FROM users u
       WHERE u.id = e.codes_granted_by AND u.is_platform_admin),
      (SELECT jsonb_build_object('scopes', k.scopes) FROM api_keys k
       WHERE k.id = e.codes_granted_by AND k.account_id = e.account_id AND k.revoked_at IS NULL
         AND (k.expires_at IS NULL OR k.expires_at > now())
         AND (NOT k.restricted OR EXISTS (SELECT FROM api_key_instances i
                                          WHERE i.api_key_id = k.id AND i.instance_id = v.instance_id))),
      (SELECT jsonb_build_object('role', m.role) FROM members m
       WHERE m.account_id = e.account_id AND m.user_id = e.codes_granted_by
         AND (NOT m.restricted OR EXISTS (SELECT FROM member_instances i
                                          WHERE i.account_id = m.account_id AND i.user_id = m.user_id
                                            AND i.instance_id = v.instance_id)))) END,
    (SELECT coalesce(string_agg(encode(s.secret_sealed, 'hex'), ',' ORDER BY s.created_at DESC, s.id DESC), '')
     FROM webhook_secrets s WHERE s.endpoint_id = e.id AND (s.expires_at IS NULL OR s.expires_at > now())),
    e.headers_sealed
  FROM unnest(claimed_ids) AS t(id)
  JOIN webhook_queue q ON q.delivery_id = t.id
  JOIN webhook_endpoints e ON e.id = q.endpoint_id
  LEFT JOIN LATERAL (SELECT n.type, n."timestamp", n.data_sealed, n.instance_id FROM events n WHERE n.id = q.event_id) AS v ON true;
END $$;

CREATE OR REPLACE FUNCTION gwk_record_webhook_results(results jsonb, endpoints jsonb, failure_gap_ms integer) RETURNS uuid[]
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
DECLARE
  changed uuid[];
  disabled uuid[];
BEGIN
  changed := ARRAY(
    SELECT e.id FROM jsonb_to_recordset(endpoints) AS d(id uuid, healthy boolean, disable text, error text)
    JOIN webhook_endpoints e ON e.id = d.id
    WHERE NOT d.healthy OR d.disable IS NOT NULL OR d.error IS NOT NULL OR e.failing_since IS NOT NULL);
  PERFORM FROM webhook_endpoints e WHERE e.id = ANY (changed) ORDER BY e.id FOR NO KEY UPDATE;

  UPDATE webhook_endpoints e SET failing_since = NULL, last_failed_at = NULL
  FROM jsonb_to_recordset(endpoints) AS d(id uuid, healthy boolean)
  WHERE e.id = d.id AND d.healthy AND e.failing_since IS NOT NULL;

  WITH newly_disabled AS (
    UPDATE webhook_endpoints e SET enabled = false, disabled_reason = d.disable, updated_at = now()
    FROM jsonb_to_recordset(endpoints) AS d(id uuid, disable text, failing_since timestamptz)
    WHERE e.id = d.id AND e.enabled AND d.disable IS NOT NULL
      AND (d.disable = 'gone' OR e.failing_since IS NOT DISTINCT FROM d.failing_since)
    RETURNING e.id, e.account_id, e.disabled_reason, e.failing_since
  ), audited AS (
    INSERT INTO audit_entries (id, account_id, actor, action, subject, detail)
    SELECT gwk_new_id(), g.account_id, 'gwk:worker', 'webhook.disable', g.id::text,
      jsonb_build_object('reason', g.disabled_reason, 'failing_since', g.failing_since)
    FROM newly_disabled g
  )
  SELECT array_agg(g.id) INTO disabled FROM newly_disabled g;

  UPDATE webhook_endpoints e
  SET last_failed_at = now(),
    failing_since = CASE
      WHEN e.failing_since IS NULL OR e.last_failed_at < now() - failure_gap_ms * interval '1 millisecond'
      THEN now() ELSE e.failing_since END
  FROM jsonb_to_recordset(endpoints) AS d(id uuid, healthy boolean)
  WHERE e.id = d.id AND NOT d.healthy
    AND (e.failing_since IS NULL OR e.last_failed_at IS NULL OR e.last_failed_at < now() - interval '1 minute');

  UPDATE webhook_endpoints e SET last_error = d.error, last_error_at = now()
  FROM jsonb_to_recordset(endpoints) AS d(id uuid, error text)
  WHERE e.id = d.id AND d.error IS NOT NULL
    AND (e.last_error IS DISTINCT FROM d.error OR e.last_error_at < now() - interval '1 minute');

  WITH held AS MATERIALIZED (
    SELECT q.delivery_id, q.endpoint_id, r.delay_ms, r.status_code, r.error, r.latency_ms, r.response,
      CASE WHEN r.result = 'retry'
          AND NOT EXISTS (SELECT FROM webhook_endpoints e WHERE e.id = q.endpoint_id AND e.enabled)
        THEN 'failed' ELSE r.result END AS result
    FROM jsonb_to_recordset(results) AS r(
      delivery_id uuid, lock uuid, result text, delay_ms bigint, status_code integer, error text, latency_ms integer,
      response text)
    JOIN webhook_queue q ON q.delivery_id = r.delivery_id AND q.locked_by = r.lock
    ORDER BY q.delivery_id FOR UPDATE OF q
  ), finished AS (
    DELETE FROM webhook_queue q USING held h
    WHERE q.delivery_id = h.delivery_id AND h.result IN ('succeeded', 'failed')
  ), waiting AS (
    UPDATE webhook_queue q
    SET locked_by = NULL, locked_until = NULL,
      attempts = q.attempts + CASE h.result WHEN 'retry' THEN 1 ELSE 0 END,
      due_at = CASE h.result WHEN 'retry' THEN now() + h.delay_ms * interval '1 millisecond' ELSE q.due_at END
    FROM held h
    WHERE q.delivery_id = h.delivery_id AND h.result IN ('retry', 'returned')
  )
  UPDATE webhook_deliveries d
  SET status = CASE h.result WHEN 'retry' THEN 'pending' ELSE h.result END,
    attempts = d.attempts + 1,
    next_attempt_at = CASE h.result WHEN 'retry' THEN now() + h.delay_ms * interval '1 millisecond' END,
    delivered_at = CASE h.result WHEN 'succeeded' THEN now() ELSE d.delivered_at END,
    last_status_code = h.status_code, last_error = h.error, last_latency_ms = h.latency_ms,
    last_response_sealed = decode(h.response, 'base64')
  FROM held h
  WHERE d.id = h.delivery_id AND h.result <> 'returned';
  RETURN coalesce(disabled, '{}');
END $$;

CREATE OR REPLACE FUNCTION gwk_results_of_endpoints(endpoints uuid[], low uuid, max_rows integer)
RETURNS TABLE (id uuid, tried integer, succeeded integer) LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  FOREACH id IN ARRAY endpoints LOOP
    SELECT (count(*) FILTER (WHERE n.status <> 'pending' OR n.attempts > 0))::integer,
      (count(*) FILTER (WHERE n.status = 'succeeded'))::integer
    INTO tried, succeeded FROM (
      SELECT d.status, d.attempts FROM webhook_deliveries d
      WHERE d.endpoint_id = gwk_results_of_endpoints.id AND d.id >= low
      ORDER BY d.endpoint_id DESC, d.id DESC LIMIT max_rows) AS n;
    RETURN NEXT;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION gwk_track_endpoint_enabled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.enabled AND NOT NEW.enabled THEN
    NEW.disabled_at := now();
  ELSIF NEW.enabled AND NOT OLD.enabled THEN
    NEW.disabled_at := NULL;
    NEW.disabled_reason := NULL;
    NEW.failing_since := NULL;
    NEW.last_failed_at := NULL;
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER webhook_endpoints_enabled BEFORE UPDATE OF enabled ON webhook_endpoints
  FOR EACH ROW EXECUTE FUNCTION gwk_track_endpoint_enabled();

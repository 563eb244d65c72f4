-- Reads the facts about each request, one row for each, without locks. Times are milliseconds since 1970.
-- Fields of a request: LookupKeys (api/src/messages/send/gather.ts).
CREATE OR REPLACE FUNCTION gwk_accept_gather(requests jsonb, environment_mass_minutes integer) RETURNS TABLE (
  at double precision,
  instance_version text, state text, offline_ms double precision, warm_up_from double precision,
  restricted_until double precision, instance_policy text,
  account_version text, account_policy text, account_suspended boolean,
  record_hash bytea, record_message uuid, record_response bytea,
  contact_id uuid, opted_out boolean, conversation_id uuid, counted boolean, last_wrote_at double precision,
  new_contacts integer, oldest_new_contact double precision,
  mass_contacts integer, mass_counted boolean, texts double precision,
  reply_ok boolean, reply_former boolean, media_found boolean, media_instances text[]
) LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
  now_at timestamptz := clock_timestamp();
  day_ago timestamptz := now_at - interval '24 hours';
  reply_ids uuid[] := ARRAY(SELECT q.reply_id FROM jsonb_to_recordset(requests) AS q(reply_id uuid));
  -- Conversation, group and author of each quoted message that was received or sent.
  reply_conversations uuid[];
  reply_groups boolean[];
  reply_authors text[];
  lowest uuid;
  highest uuid;
  -- Instances of each file that was found.
  files text[];
BEGIN
  -- Separate statement: a query on messages first opens every partition between its ids.
  IF cardinality(array_remove(reply_ids, NULL)) > 0 THEN
    SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(reply_ids) AS s;
    SELECT array_agg(r.conversation_id ORDER BY q.place), array_agg(r.group_id IS NOT NULL ORDER BY q.place),
      array_agg(replace(r.participant, '@s.whatsapp.net', '') ORDER BY q.place)
    INTO reply_conversations, reply_groups, reply_authors
    FROM ROWS FROM (jsonb_to_recordset(requests) AS (reply_id uuid, instance_id uuid))
      WITH ORDINALITY AS q(reply_id, instance_id, place)
    LEFT JOIN LATERAL (
      SELECT m.conversation_id, v.group_id, m.participant FROM messages m JOIN conversations v ON v.id = m.conversation_id
      WHERE m.id = q.reply_id AND m.id BETWEEN lowest AND highest AND m.instance_id = q.instance_id
        AND m.status IN ('sent', 'delivered', 'read') LIMIT 1
    ) r ON true;
  END IF;
  -- Separate statement: few requests carry a file.
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
    mass.contacts, mass.counted, mass.texts::double precision,
    -- A message of a group may be answered in private, to its author. No other quote leaves its conversation.
    q.reply_id IS NULL OR (reply_conversations[q.place] = c.id OR (
      NOT q.is_group AND reply_groups[q.place] AND (
        reply_authors[q.place] IS NULL OR reply_authors[q.place] IN (q.name, q.exact) OR n.contact_id = (
          SELECT v.contact_id FROM contact_names v
          WHERE v.account_id = q.account_id AND v.name = reply_authors[q.place])))) IS TRUE,
    coalesce(q.reply_id < gwk_lowest_id(i.other_account_at), false),
    files[q.place] IS NOT NULL, files[q.place]::text[]
  FROM ROWS FROM (jsonb_to_recordset(requests) AS (
    account_id uuid, instance_id uuid, name text, exact text, is_group boolean, record_id uuid, fingerprint uuid, reply_id uuid
  )) WITH ORDINALITY AS q(account_id, instance_id, name, exact, is_group, record_id, fingerprint, reply_id, place)
  LEFT JOIN LATERAL (
    SELECT v.xmin::text AS version, v.policy, v.suspended_at FROM accounts v WHERE v.id = q.account_id LIMIT 1
  ) a ON true
  LEFT JOIN LATERAL (
    SELECT v.xmin::text AS version, v.state, v.state_changed_at, v.offline_ms, v.kind, v.created_at, v.first_paired_at,
      v.other_account_at, v.restricted_until, v.policy
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
    SELECT count(*)::integer AS contacts, coalesce(bool_or(s.contact_id = n.contact_id), false) AS counted,
      (SELECT l.texts FROM instance_counters l WHERE l.instance_id = q.instance_id LIMIT 1) AS texts
    FROM mass_sends s
    WHERE NOT q.is_group AND c.last_wrote_at IS NULL AND s.fingerprint = q.fingerprint
      AND s.at > now_at - make_interval(mins => gwk_mass_window(i.policy, a.policy, environment_mass_minutes))
  ) mass ON true
  ORDER BY q.place;
END $$;

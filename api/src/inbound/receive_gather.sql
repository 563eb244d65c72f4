-- Facts about the conversations of inbound messages, one row for each. Names are looked up one by one: a join made
-- while the table is small would search by account alone, and its plan would be kept.
-- Fields of an arrival (api/src/inbound/gather.ts):
--   name, sender: canonical name of the contact in a direct chat, or of the sender in a group. alt: another name of it.
--   exact, sender_exact, alt_exact: the digits of these phone numbers, where they differ.
--   target, quote: network id of the message that was clicked or voted on, and of the quoted message.
--   author: LID of the author of the quoted message.
--   The menu of another conversation has `elsewhere`: it is not answered, but its answer is known to be forged.
--   typed: the newest menu matters. voters: names of the voter in the target poll, or in the newest menu if there is no
--   target. The former release states one name as `voter`.
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
  -- Phone number of the sender in a group, as this instance's engine saw it.
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

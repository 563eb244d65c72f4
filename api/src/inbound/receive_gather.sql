-- Facts about the conversations of inbound messages, one row for each. Names are looked up one by one: a join made
-- while the table is small would search by account alone, and its plan would be kept.
-- Fields of an arrival (api/src/inbound/gather.ts):
--   name, sender: canonical name of the contact in a direct chat, or of the sender in a group. alt: another name of it.
--   target, quote: network id of the message that was clicked or voted on, and of the quoted message.
--   typed: the newest menu matters. voter: in the target poll, or in the newest menu if there is no target.
CREATE OR REPLACE FUNCTION gwk_receive_gather(arrivals jsonb) RETURNS TABLE (
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
  SELECT i.account_id, CASE WHEN q.typed THEN a.policy::text END, CASE WHEN q.typed THEN i.policy::text END,
    n.contact_id, gwk_contact_name(n.contact_id), c.id,
    s.contact_id, gwk_contact_name(s.contact_id), t.contact_id, gwk_contact_name(t.contact_id),
    newest.facts, quoted.facts, target.facts, w.chosen
  FROM ROWS FROM (jsonb_to_recordset(arrivals) AS (
    instance_id uuid, name text, group_id text, sender text, alt text, target text, quote text, typed boolean, voter text
  )) WITH ORDINALITY AS q(instance_id, name, group_id, sender, alt, target, quote, typed, voter, place)
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
    WHERE q.typed AND m.conversation_id = c.id AND m.sent_at IS NOT NULL
    ORDER BY m.sent_at DESC, m.message_id DESC LIMIT 1
  ) newest ON true
  LEFT JOIN LATERAL (
    SELECT gwk_menu_facts(m) AS facts FROM menus m
    WHERE q.typed AND m.instance_id = i.id AND m.wa_message_id = q.quote AND m.conversation_id = c.id
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

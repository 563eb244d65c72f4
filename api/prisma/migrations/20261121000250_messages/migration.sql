-- The SQL of menus, quotes and changes of messages that have left.

-- Hours during which a menu accepts typed replies: the highest level that says.
CREATE FUNCTION gwk_menu_hours(instance_policy jsonb, account_policy jsonb, environment_hours integer)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(
    (instance_policy ->> 'menu_ttl_hours')::integer, (account_policy ->> 'menu_ttl_hours')::integer, environment_hours)
$$;

-- What quotes are made of. Of a message that came in, the events that follow it: its own was written with it, under an
-- id made right after the message's.
CREATE FUNCTION gwk_quoted_messages(ids uuid[]) RETURNS TABLE (
  id uuid, account_id uuid, instance_id uuid, direction text, wa_message_id text, participant text, type text,
  deleted boolean, group_id text, contact_name text, content_sealed bytea, events bytea[]
)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
BEGIN
  RETURN QUERY
  SELECT m.id, m.account_id, m.instance_id, m.direction, m.wa_message_id, m.participant, m.type, m.deleted_for_all,
    v.group_id, gwk_contact_name(v.contact_id), k.content_sealed,
    CASE WHEN m.direction = 'inbound' THEN ARRAY(
      SELECT e.data_sealed FROM events e
      WHERE e.instance_id = m.instance_id AND e.id > m.id
        AND e.type IN ('message.received', 'message.interactive_reply')
      ORDER BY e.id LIMIT 20) END
  FROM unnest(ids) AS wanted(id)
  JOIN messages m ON m.id = wanted.id
  JOIN conversations v ON v.id = m.conversation_id
  LEFT JOIN message_contents k ON k.message_id = m.id AND m.direction = 'outbound';
END $$;

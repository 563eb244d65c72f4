-- Due scheduled messages with the facts that decide about them, in the order of their sequence numbers.
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

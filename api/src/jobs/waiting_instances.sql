-- Instances with waiting messages, and the facts that decide about those. One index lookup per instance. `offline_ms`:
-- time outside `connected` until now.
CREATE OR REPLACE FUNCTION gwk_waiting_instances() RETURNS TABLE (
  instance_id uuid, state text, deleted boolean, offline_ms double precision, suspended_ms double precision,
  other_account_at timestamptz
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
    floor(extract(epoch FROM now() - a.suspended_at) * 1000)::double precision,
    i.other_account_at
  FROM waiting w
  JOIN instances i ON i.id = w.id
  JOIN accounts a ON a.id = i.account_id
$$;

-- Claims messages to prepare, at most `free`, for `lock_ms`. The worker renews its claims, so the next worker claims the
-- messages of a stopped one.
-- The account with the fewest preparations in progress comes first. It gets a place only while at least as many stay free
-- as it would hold, so some are always left for the next account. A message that cannot leave yet, because another one of
-- its conversation is before it, needs twice as many. No more than `per_host` messages of an account fetch from one host.
-- busy: {accounts: {id: amount}, hosts: {prepare_host: amount}}, the preparations of this worker.
-- The columns have no other writer and no lock is waited on, so the lock order does not apply.
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

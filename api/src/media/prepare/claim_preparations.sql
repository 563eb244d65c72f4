-- Claims messages to prepare. Accounts with the fewest preparations in progress (`busy`) come first, each with at most
-- `per_account`, so a long queue delays no other account. Only the oldest messages of an instance are read. A claimed
-- message is due again after `lock_ms`, in case its worker stopped. The columns have no other writer and no lock is
-- waited on, so the lock order does not apply.
CREATE OR REPLACE FUNCTION gwk_claim_preparations(
  max_messages integer, per_account integer, lock_ms integer, busy_accounts uuid[], busy integer[]
) RETURNS TABLE (
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
    SELECT d.message_id, d.created_at,
      COALESCE(b.amount, 0) + row_number() OVER (PARTITION BY i.account_id ORDER BY d.created_at) AS rank
    FROM waiting w
    JOIN instances i ON i.id = w.instance_id
    LEFT JOIN unnest(busy_accounts, busy) AS b(account_id, amount) ON b.account_id = i.account_id
    CROSS JOIN LATERAL (
      SELECT o.message_id, o.created_at FROM outbox o
      WHERE o.instance_id = w.instance_id AND NOT o.prepared AND (o.prepare_at IS NULL OR o.prepare_at <= now())
      ORDER BY o.created_at LIMIT per_account) d
  ), chosen AS (
    SELECT o.message_id FROM outbox o
    WHERE o.message_id IN (
      SELECT d.message_id FROM due d WHERE d.rank <= per_account ORDER BY d.rank, d.created_at LIMIT max_messages)
    AND NOT o.prepared AND (o.prepare_at IS NULL OR o.prepare_at <= now())
    FOR UPDATE SKIP LOCKED
  ), claimed AS (
    UPDATE outbox o
    SET prepare_at = now() + lock_ms * interval '1 millisecond', prepare_attempts = o.prepare_attempts + 1
    FROM chosen c WHERE o.message_id = c.message_id
    RETURNING o.message_id, o.instance_id, o.prepare_attempts, o.created_at
  )
  SELECT t.message_id, t.instance_id, m.account_id, m.type, t.prepare_attempts, c.content_sealed
  FROM claimed t
  JOIN messages m ON m.id = t.message_id
  LEFT JOIN message_contents c ON c.message_id = t.message_id
  ORDER BY t.created_at;
END $$;

-- Every endpoint with queued deliveries, and its earliest due time. One index lookup per endpoint, at any length of its
-- queue.
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

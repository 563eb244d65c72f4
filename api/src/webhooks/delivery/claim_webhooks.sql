-- Claims due deliveries for one worker. An endpoint gets at most `per_endpoint` calls, minus those in flight (`busy`).
-- The first delivery of every endpoint comes before the second of any, so a long queue delays no other endpoint.
-- Failing endpoints and those in `slow` share `max_unreliable` slots. A disabled endpoint gets only deliveries that
-- were requested by hand afterwards.
-- `out_of_scope`: the endpoint no longer includes the event's instance. Read with the URL in one snapshot, because a
-- key that gained access through the new scope may have changed the URL.
-- `codes_author`: of an event with a pairing code, the rights that the key or person who last changed the endpoint has
-- now for the instance. Read with the URL in one snapshot, like `out_of_scope`.
-- `secrets`: comma-separated hex, because the driver parses an array of bytea character by character.
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

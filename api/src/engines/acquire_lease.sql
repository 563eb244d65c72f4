-- Grants the next epoch to the pod of a token, unless another engine holds the lease. A holder that missed the answer
-- gets its epoch again. `now()` is earlier than any wait for the lock and later than the engine's request. The engine
-- counts from its request, so its lease ends there before it ends here.
CREATE OR REPLACE FUNCTION gwk_acquire_lease(
  instance uuid, token uuid, pod_name text, engine_version text, new_holder uuid, lease_ms integer,
  OUT outcome text, OUT new_epoch integer, OUT retry_after_ms integer, OUT unresponsive_since timestamptz
) LANGUAGE plpgsql AS $$
DECLARE
  lease instance_leases;
  caller_token engine_tokens;
BEGIN
  SELECT * INTO lease FROM instance_leases l WHERE l.instance_id = instance FOR UPDATE;
  IF NOT FOUND OR EXISTS (SELECT FROM instances i WHERE i.id = instance AND i.deleted_at IS NOT NULL) THEN
    outcome := 'gone';
    RETURN;
  END IF;
  SELECT * INTO caller_token FROM engine_tokens t
  WHERE t.id = token AND t.instance_id = instance AND t.pod = pod_name AND t.revoked_at IS NULL;
  IF NOT FOUND OR EXISTS (
    SELECT FROM engine_tokens t
    WHERE t.id = lease.token_id AND (t.issued_at, t.id) > (caller_token.issued_at, caller_token.id)
  ) THEN
    outcome := 'unauthorized';
    RETURN;
  END IF;
  IF lease.holder = new_holder AND lease.token_id = token THEN
    UPDATE instance_leases l
    SET renewed_at = now(), expires_at = GREATEST(l.expires_at, now() + lease_ms * interval '1 millisecond')
    WHERE l.instance_id = instance;
    outcome := 'acquired';
    new_epoch := lease.epoch;
    RETURN;
  END IF;
  IF lease.holder IS NOT NULL AND lease.expires_at > now() THEN
    outcome := 'lease-held';
    retry_after_ms := ceil(extract(epoch FROM lease.expires_at - now()) * 1000);
    RETURN;
  END IF;
  UPDATE instance_leases l
  SET epoch = l.epoch + 1, holder = new_holder, token_id = token, pod = pod_name, version = engine_version,
    renewed_at = now(), expires_at = now() + lease_ms * interval '1 millisecond'
  WHERE l.instance_id = instance;
  UPDATE engine_tokens t SET revoked_at = now()
  WHERE t.instance_id = instance AND t.revoked_at IS NULL
    AND (t.issued_at, t.id) < (caller_token.issued_at, caller_token.id);
  outcome := 'acquired';
  new_epoch := lease.epoch + 1;
  unresponsive_since := (
    SELECT CASE WHEN lease.holder IS NULL THEN lease.expires_at ELSE lease.renewed_at END
    FROM instances i WHERE i.id = instance AND i.state = 'connected');
END $$;

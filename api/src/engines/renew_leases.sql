-- Renews many leases. An expired lease that nobody acquired can be renewed: its engine is the last one.
CREATE OR REPLACE FUNCTION gwk_renew_leases(instance_ids uuid[], epochs integer[], holders uuid[], lease_ms integer)
RETURNS text[]
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
DECLARE
  refusals text[];
BEGIN
  PERFORM FROM instance_leases l WHERE l.instance_id = ANY (instance_ids) ORDER BY l.instance_id FOR NO KEY UPDATE;
  refusals := gwk_fence(instance_ids, epochs, holders);
  UPDATE instance_leases l
  SET renewed_at = now(), expires_at = GREATEST(l.expires_at, now() + lease_ms * interval '1 millisecond')
  FROM unnest(instance_ids, refusals) AS r(instance_id, refusal)
  WHERE l.instance_id = r.instance_id AND r.refusal IS NULL;
  RETURN refusals;
END $$;

-- Checks epoch and holder of each caller. NULL: the caller holds the lease. 'fenced': it does not. 'gone': it does, but
-- the instance is deleted. The leases stay locked until the transaction ends, so nobody acquires them meanwhile.
CREATE OR REPLACE FUNCTION gwk_fence(instance_ids uuid[], epochs integer[], holders uuid[]) RETURNS text[]
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
DECLARE
  refusals text[];
BEGIN
  WITH held AS MATERIALIZED (
    SELECT l.instance_id, l.epoch, l.holder FROM instance_leases l
    WHERE l.instance_id = ANY (instance_ids)
    ORDER BY l.instance_id FOR SHARE
  )
  SELECT array_agg(
    CASE
      WHEN (h.epoch, h.holder) IS DISTINCT FROM (r.epoch, r.holder) OR r.holder IS NULL THEN 'fenced'
      WHEN i.deleted_at IS NOT NULL THEN 'gone'
    END ORDER BY r.place)
  INTO refusals
  FROM unnest(instance_ids, epochs, holders) WITH ORDINALITY AS r(instance_id, epoch, holder, place)
  LEFT JOIN held h ON h.instance_id = r.instance_id
  LEFT JOIN instances i ON i.id = r.instance_id;
  RETURN refusals;
END $$;

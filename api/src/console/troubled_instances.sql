-- Instances of an account that need a person, each with its most serious reason. `visible`: only these; NULL: all. One
-- index lookup for each instance finds the message that waits longest.
CREATE OR REPLACE FUNCTION gwk_troubled_instances(
  account uuid, visible uuid[], waiting_since timestamptz, max_rows integer
)
RETURNS TABLE (id uuid, name text, reason text) LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
BEGIN
  RETURN QUERY
  SELECT * FROM (
    SELECT i.id, i.name,
      CASE
        WHEN i.state IN ('logged_out', 'banned') THEN i.state
        WHEN i.restricted_until > now() THEN 'restricted'
        WHEN (SELECT o.head_since FROM outbox o WHERE o.instance_id = i.id AND o.head
          ORDER BY o.head_since LIMIT 1) < waiting_since THEN 'queue_growing'
      END AS trouble
    FROM instances i
    WHERE i.account_id = account AND i.deleted_at IS NULL AND (visible IS NULL OR i.id = ANY (visible))
  ) AS judged
  WHERE judged.trouble IS NOT NULL ORDER BY judged.id LIMIT max_rows;
END $$;

-- Ids of messages that callers name by message id or by network id. NULL: not found, or the caller does not hold the
-- lease. Message ids are returned unchecked and may belong to another instance.
--
-- Network ids are searched in the last three days first, then in all days. A receipt rarely comes later, and a search
-- of all days opens every partition.
CREATE OR REPLACE FUNCTION gwk_find_messages(
  instance_ids uuid[], epochs integer[], holders uuid[], message_ids uuid[], wa_message_ids text[]
) RETURNS uuid[]
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
DECLARE
  recent_from uuid := gwk_lowest_id(now() - interval '3 days');
  -- Excludes the partitions created a week ahead.
  recent_until uuid := gwk_lowest_id(now() + interval '1 day');
  network_ids text[];
  ids uuid[];
BEGIN
  -- Callers without the lease find nothing.
  SELECT array_agg(CASE WHEN q.leased THEN q.wa_message_id END ORDER BY q.number),
    array_agg(CASE WHEN q.leased THEN q.message_id END ORDER BY q.number)
  INTO network_ids, ids
  FROM (
    SELECT r.wa_message_id, r.message_id, r.number, (
      SELECT true FROM instance_leases l
      WHERE l.instance_id = r.instance_id AND l.epoch = r.epoch AND l.holder = r.holder) AS leased
    FROM unnest(instance_ids, epochs, holders, message_ids, wa_message_ids) WITH ORDINALITY
      AS r(instance_id, epoch, holder, message_id, wa_message_id, number)
    -- OFFSET 0 keeps the lease lookup in a subquery; inlined, it would run once for each use.
    OFFSET 0
  ) AS q;
  IF cardinality(array_remove(network_ids, NULL)) = 0 THEN
    RETURN ids;
  END IF;

  ids := ARRAY(
    SELECT COALESCE(q.id, (
      SELECT e.id FROM messages e
      WHERE gwk_equals_by_hash(e.wa_message_id, q.wa_message_id)
        AND e.instance_id = q.instance_id AND e.id >= recent_from AND e.id < recent_until AND e.direction = 'outbound'
      ORDER BY gwk_hash_high(e.wa_message_id) LIMIT 1))
    FROM unnest(ids, instance_ids, network_ids) WITH ORDINALITY AS q(id, instance_id, wa_message_id, number)
    ORDER BY q.number);
  IF EXISTS (SELECT FROM unnest(ids, network_ids) AS q(id, wa_message_id)
             WHERE q.id IS NULL AND q.wa_message_id IS NOT NULL) THEN
    ids := ARRAY(
      SELECT COALESCE(q.id, (
        SELECT e.id FROM messages e
        WHERE gwk_equals_by_hash(e.wa_message_id, q.wa_message_id)
          AND e.instance_id = q.instance_id AND e.id < recent_from AND e.direction = 'outbound'
        ORDER BY gwk_hash_high(e.wa_message_id) LIMIT 1))
      FROM unnest(ids, instance_ids, network_ids) WITH ORDINALITY AS q(id, instance_id, wa_message_id, number)
      ORDER BY q.number);
  END IF;
  RETURN ids;
END $$;

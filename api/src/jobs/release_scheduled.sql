-- Gives scheduled messages their sequence numbers in the order of acceptance, or postpones those with a new time. The
-- offline clock of a released message starts here. Returns the released heads.
CREATE OR REPLACE FUNCTION gwk_release_scheduled(message_ids uuid[], new_times timestamptz[])
RETURNS TABLE (instance_id uuid, message_id uuid)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
#variable_conflict use_column
DECLARE
  released uuid[];
  postponed uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  PERFORM gwk_lock_conversations(message_ids);

  WITH entries AS (
    SELECT o.message_id, o.conversation_id, o.instance_id,
      row_number() OVER (PARTITION BY o.conversation_id ORDER BY o.created_at, o.message_id) AS rank
    FROM unnest(message_ids, new_times) AS r(id, new_time)
    JOIN outbox o ON o.message_id = r.id
    WHERE r.new_time IS NULL AND o.state = 'scheduled' AND o.release_at <= now()
  ), advanced AS (
    UPDATE conversations v SET last_seq = v.last_seq + e.amount
    FROM (SELECT n.conversation_id, count(*) AS amount FROM entries n GROUP BY n.conversation_id) AS e
    WHERE v.id = e.conversation_id
    RETURNING v.id, v.last_seq - e.amount AS before
  ), waiting AS (
    UPDATE outbox o
    SET state = 'waiting', seq = a.before + e.rank, release_at = NULL,
      offline_ms_at_start = i.offline_ms + CASE WHEN i.state = 'connected' THEN 0
        ELSE floor(extract(epoch FROM now() - i.state_changed_at) * 1000)::bigint END
    FROM entries e
    JOIN advanced a ON a.id = e.conversation_id
    JOIN instances i ON i.id = e.instance_id
    WHERE o.message_id = e.message_id
    RETURNING o.message_id
  )
  SELECT array_agg(w.message_id) INTO released FROM waiting w;
  PERFORM gwk_promote_heads(ARRAY(
    SELECT DISTINCT o.conversation_id FROM outbox o WHERE o.message_id = ANY (released)));

  WITH postponements AS (
    UPDATE outbox o SET release_at = r.new_time
    FROM unnest(message_ids, new_times) AS r(id, new_time)
    WHERE o.message_id = r.id AND r.new_time IS NOT NULL AND o.state = 'scheduled' AND o.release_at <= now()
    RETURNING o.message_id
  )
  SELECT array_agg(l.message_id) INTO postponed FROM postponements l;
  IF postponed IS NOT NULL THEN
    SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(postponed) AS s;
    UPDATE messages m SET scheduled_for = r.new_time, version = m.version + 1, updated_at = now()
    FROM unnest(message_ids, new_times) AS r(id, new_time)
    WHERE m.id = r.id AND m.id = ANY (postponed) AND m.id BETWEEN lowest AND highest;
  END IF;

  RETURN QUERY
  SELECT o.instance_id, o.message_id FROM outbox o WHERE o.message_id = ANY (released) AND o.head;
END $$;

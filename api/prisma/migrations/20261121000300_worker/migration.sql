-- SQL of the worker: webhook deliveries, and waiting messages over time.
--
-- Several workers run these functions at the same time. They take entries with SKIP LOCKED, and verify facts under locks before
-- they write. The lock order is that of 20261121000200_engines.

-- ------------------------------------------------------------------ webhooks

-- Sets disabled_at when an endpoint is disabled. Enabling it clears its failures.
CREATE FUNCTION gwk_track_endpoint_enabled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.enabled AND NOT NEW.enabled THEN
    NEW.disabled_at := now();
  ELSIF NEW.enabled AND NOT OLD.enabled THEN
    NEW.disabled_at := NULL;
    NEW.disabled_reason := NULL;
    NEW.failing_since := NULL;
    NEW.last_failed_at := NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER webhook_endpoints_enabled BEFORE UPDATE OF enabled ON webhook_endpoints
  FOR EACH ROW EXECUTE FUNCTION gwk_track_endpoint_enabled();

-- Plans are fixed to index lookups with a LIMIT, because queues are long and batches are not.

-- Every endpoint with queued deliveries, and its earliest due time. One index lookup per endpoint, at any length of its
-- queue.
CREATE FUNCTION gwk_queued_endpoints() RETURNS TABLE (id uuid, first_due timestamptz) LANGUAGE sql STABLE
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

-- Claims due deliveries for one worker. An endpoint gets at most `per_endpoint` calls, minus those in flight (`busy`).
-- The first delivery of every endpoint comes before the second of any, so a long queue delays no other endpoint.
-- Failing endpoints and those in `slow` share `max_unreliable` slots. A disabled endpoint gets only deliveries that
-- were requested by hand afterwards.
-- `out_of_scope`: the endpoint no longer includes the event's instance. Read with the URL in one snapshot, because a
-- key that gained access through the new scope may have changed the URL.
CREATE FUNCTION gwk_claim_webhooks(
  lock uuid, lock_ms integer, busy uuid[], busy_counts integer[], slow uuid[],
  per_endpoint integer, max_deliveries integer, max_unreliable integer
) RETURNS TABLE (
  delivery_id uuid, endpoint_id uuid, event_id uuid, attempts integer, account_id uuid, url text, enabled boolean,
  failing_since timestamptz, last_failed_at timestamptz,
  event_type text, event_at timestamptz, event_data bytea, out_of_scope boolean, secrets bytea[]
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
    ARRAY(SELECT s.secret_sealed FROM webhook_secrets s
          WHERE s.endpoint_id = e.id AND (s.expires_at IS NULL OR s.expires_at > now())
          ORDER BY s.created_at DESC, s.id DESC)
  FROM unnest(claimed_ids) AS t(id)
  JOIN webhook_queue q ON q.delivery_id = t.id
  JOIN webhook_endpoints e ON e.id = q.endpoint_id
  LEFT JOIN LATERAL (SELECT n.type, n."timestamp", n.data_sealed, n.instance_id FROM events n WHERE n.id = q.event_id) AS v ON true;
END $$;

-- Writes the results of a batch of calls. A result counts only while its entry has the lock of that call. Disabling an
-- endpoint writes an audit entry. Returns the disabled endpoints.
-- results: {delivery_id, lock, result, delay_ms, status_code, error, latency_ms, response (base64)}. result:
-- 'succeeded', 'failed', 'retry' after delay_ms, or 'returned' (not called; releases the lock).
-- endpoints: {id, healthy, disable, failing_since}. healthy: a call succeeded. disable: reason to disable it; ignored
-- if failing_since has changed, except for 'gone'.
CREATE FUNCTION gwk_record_webhook_results(results jsonb, endpoints jsonb, failure_gap_ms integer) RETURNS uuid[]
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
DECLARE
  changed uuid[];
  disabled uuid[];
BEGIN
  changed := ARRAY(
    SELECT e.id FROM jsonb_to_recordset(endpoints) AS d(id uuid, healthy boolean, disable text)
    JOIN webhook_endpoints e ON e.id = d.id
    WHERE NOT d.healthy OR d.disable IS NOT NULL OR e.failing_since IS NOT NULL);
  PERFORM FROM webhook_endpoints e WHERE e.id = ANY (changed) ORDER BY e.id FOR NO KEY UPDATE;

  UPDATE webhook_endpoints e SET failing_since = NULL, last_failed_at = NULL
  FROM jsonb_to_recordset(endpoints) AS d(id uuid, healthy boolean)
  WHERE e.id = d.id AND d.healthy AND e.failing_since IS NOT NULL;

  WITH newly_disabled AS (
    UPDATE webhook_endpoints e SET enabled = false, disabled_reason = d.disable, updated_at = now()
    FROM jsonb_to_recordset(endpoints) AS d(id uuid, disable text, failing_since timestamptz)
    WHERE e.id = d.id AND e.enabled AND d.disable IS NOT NULL
      AND (d.disable = 'gone' OR e.failing_since IS NOT DISTINCT FROM d.failing_since)
    RETURNING e.id, e.account_id, e.disabled_reason, e.failing_since
  ), audited AS (
    INSERT INTO audit_entries (id, account_id, actor, action, subject, detail)
    SELECT gwk_new_id(), g.account_id, 'gwk:worker', 'webhook.disable', g.id::text,
      jsonb_build_object('reason', g.disabled_reason, 'failing_since', g.failing_since)
    FROM newly_disabled g
  )
  SELECT array_agg(g.id) INTO disabled FROM newly_disabled g;

  -- Failures further apart than failure_gap_ms are separate failures. last_failed_at is updated at most once a minute.
  UPDATE webhook_endpoints e
  SET last_failed_at = now(),
    failing_since = CASE
      WHEN e.failing_since IS NULL OR e.last_failed_at < now() - failure_gap_ms * interval '1 millisecond'
      THEN now() ELSE e.failing_since END
  FROM jsonb_to_recordset(endpoints) AS d(id uuid, healthy boolean)
  WHERE e.id = d.id AND NOT d.healthy
    AND (e.failing_since IS NULL OR e.last_failed_at IS NULL OR e.last_failed_at < now() - interval '1 minute');

  WITH held AS MATERIALIZED (
    SELECT q.delivery_id, q.endpoint_id, r.delay_ms, r.status_code, r.error, r.latency_ms, r.response,
      CASE WHEN r.result = 'retry'
          AND NOT EXISTS (SELECT FROM webhook_endpoints e WHERE e.id = q.endpoint_id AND e.enabled)
        THEN 'failed' ELSE r.result END AS result
    FROM jsonb_to_recordset(results) AS r(
      delivery_id uuid, lock uuid, result text, delay_ms bigint, status_code integer, error text, latency_ms integer,
      response text)
    JOIN webhook_queue q ON q.delivery_id = r.delivery_id AND q.locked_by = r.lock
    ORDER BY q.delivery_id FOR UPDATE OF q
  ), finished AS (
    DELETE FROM webhook_queue q USING held h
    WHERE q.delivery_id = h.delivery_id AND h.result IN ('succeeded', 'failed')
  ), waiting AS (
    UPDATE webhook_queue q
    SET locked_by = NULL, locked_until = NULL,
      attempts = q.attempts + CASE h.result WHEN 'retry' THEN 1 ELSE 0 END,
      due_at = CASE h.result WHEN 'retry' THEN now() + h.delay_ms * interval '1 millisecond' ELSE q.due_at END
    FROM held h
    WHERE q.delivery_id = h.delivery_id AND h.result IN ('retry', 'returned')
  )
  UPDATE webhook_deliveries d
  SET status = CASE h.result WHEN 'retry' THEN 'pending' ELSE h.result END,
    attempts = d.attempts + 1,
    next_attempt_at = CASE h.result WHEN 'retry' THEN now() + h.delay_ms * interval '1 millisecond' END,
    delivered_at = CASE h.result WHEN 'succeeded' THEN now() ELSE d.delivered_at END,
    last_status_code = h.status_code, last_error = h.error, last_latency_ms = h.latency_ms,
    last_response_sealed = decode(h.response, 'base64')
  FROM held h
  WHERE d.id = h.delivery_id AND h.result <> 'returned';
  RETURN coalesce(disabled, '{}');
END $$;

-- Fails a batch of queued deliveries of deleted or disabled endpoints. Deliveries in flight stay, and so do those
-- requested by hand after disabling.
CREATE FUNCTION gwk_abandon_webhooks(max_deliveries integer) RETURNS integer
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_bitmapscan = off SET enable_material = off
AS $$
DECLARE
  abandoned integer;
BEGIN
  WITH entries AS MATERIALIZED (
    SELECT c.delivery_id, e.id IS NULL AS deleted
    FROM gwk_queued_endpoints() AS w
    LEFT JOIN webhook_endpoints e ON e.id = w.id
    CROSS JOIN LATERAL (
      SELECT q.delivery_id FROM webhook_queue q
      WHERE q.endpoint_id = w.id AND (q.locked_until IS NULL OR q.locked_until <= now())
        AND (e.id IS NULL OR q.attempts > 0 OR q.due_at <= e.disabled_at)
      LIMIT max_deliveries FOR UPDATE SKIP LOCKED
    ) AS c
    WHERE e.id IS NULL OR NOT e.enabled
    LIMIT max_deliveries
  ), removed AS (
    DELETE FROM webhook_queue q USING entries e WHERE q.delivery_id = e.delivery_id
  )
  UPDATE webhook_deliveries d
  SET status = 'failed', next_attempt_at = NULL,
    last_error = CASE WHEN e.deleted THEN 'the endpoint was deleted' ELSE 'the endpoint was disabled' END
  FROM entries e WHERE d.id = e.delivery_id;
  GET DIAGNOSTICS abandoned = ROW_COUNT;
  RETURN abandoned;
END $$;

-- ------------------------------------------------------------------ waiting messages

-- Instances with waiting messages, and the facts that decide about those. One index lookup per instance. `offline_ms`:
-- time outside `connected` until now.
CREATE FUNCTION gwk_waiting_instances() RETURNS TABLE (
  instance_id uuid, state text, deleted boolean, offline_ms bigint, suspended_ms bigint
)
LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
  WITH RECURSIVE waiting(id) AS (
    (SELECT o.instance_id FROM outbox o WHERE o.head ORDER BY o.instance_id LIMIT 1)
    UNION ALL
    SELECT (SELECT o.instance_id FROM outbox o WHERE o.head AND o.instance_id > w.id ORDER BY o.instance_id LIMIT 1)
    FROM waiting w WHERE w.id IS NOT NULL
  )
  SELECT i.id, i.state, i.deleted_at IS NOT NULL,
    i.offline_ms + CASE WHEN i.state = 'connected' THEN 0
      ELSE floor(extract(epoch FROM now() - i.state_changed_at) * 1000)::bigint END,
    floor(extract(epoch FROM now() - a.suspended_at) * 1000)::bigint
  FROM waiting w
  JOIN instances i ON i.id = w.id
  JOIN accounts a ON a.id = i.account_id
$$;

-- Waiting, unattempted messages of an instance, oldest heads first. Either they were queued when its offline clock was
-- at most `max_offline_ms`, and no later than `waiting_since`. Or they were accepted no later than `accepted_until`
-- (suspended account). NULL disables a condition. `waiting_since` is needed because the clock jumps forward when an
-- engine is found unresponsive. Only conversations with an old head are read, because the head has waited longest.
CREATE FUNCTION gwk_waiting_messages(
  instance uuid, max_offline_ms bigint, waiting_since timestamptz, accepted_until timestamptz, max_messages integer
)
RETURNS TABLE (message_id uuid)
LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
SET enable_sort = off
AS $$
  SELECT e.message_id
  FROM outbox h
  CROSS JOIN LATERAL (
    SELECT o.message_id FROM outbox o
    WHERE o.conversation_id = h.conversation_id AND o.seq >> 4 IS NOT NULL AND o.attempted_at IS NULL
      AND (o.offline_ms_at_start <= max_offline_ms AND coalesce(o.release_at, o.created_at) <= waiting_since
        OR o.created_at <= accepted_until)
    ORDER BY o.seq >> 4, o.seq LIMIT max_messages
  ) AS e
  WHERE h.instance_id = instance AND h.head
    AND (h.offline_ms_at_start <= max_offline_ms OR h.created_at <= accepted_until)
  ORDER BY h.head_since, h.message_id LIMIT max_messages
$$;

-- Fails waiting messages that are still unattempted, claimed or not. Under the lock of its conversation no engine
-- starts to send a message. Arguments and result are those of gwk_update_messages.
CREATE FUNCTION gwk_fail_unattempted(changes jsonb, events jsonb) RETURNS uuid[]
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
BEGIN
  PERFORM gwk_lock_conversations(ARRAY(SELECT c.message_id FROM jsonb_to_recordset(changes) AS c(message_id uuid)));
  SELECT coalesce(jsonb_agg(c.change), '[]') INTO changes
  FROM jsonb_array_elements(changes) AS c(change)
  JOIN outbox o ON o.message_id = (c.change ->> 'message_id')::uuid AND o.attempted_at IS NULL;
  RETURN gwk_update_messages(changes, events);
END $$;

-- Heads that have waited `min_wait_ms` for a connected instance without a notification in that time; it may have been
-- lost. A few per instance are enough, because an engine claims everything. Sets notified_at.
CREATE FUNCTION gwk_renotify(min_wait_ms integer, per_instance integer)
RETURNS TABLE (instance_id uuid, message_id uuid)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
#variable_conflict use_column
DECLARE
  before timestamptz := now() - min_wait_ms * interval '1 millisecond';
BEGIN
  RETURN QUERY
  WITH due AS MATERIALIZED (
    SELECT o.message_id
    FROM gwk_waiting_instances() AS w
    CROSS JOIN LATERAL (
      SELECT h.message_id, h.notified_at FROM outbox h
      WHERE h.instance_id = w.instance_id AND h.head AND h.prepared AND h.state = 'waiting' AND h.head_since <= before
      ORDER BY h.head_since, h.message_id LIMIT per_instance
    ) AS oldest
    JOIN outbox o ON o.message_id = oldest.message_id
    WHERE w.state = 'connected' AND NOT w.deleted AND w.suspended_ms IS NULL
      AND o.state = 'waiting' AND (o.notified_at IS NULL OR o.notified_at <= before)
    ORDER BY o.message_id FOR NO KEY UPDATE OF o SKIP LOCKED
  )
  UPDATE outbox o SET notified_at = now() FROM due d WHERE o.message_id = d.message_id
  RETURNING o.instance_id, o.message_id;
END $$;

-- Due scheduled messages with the facts that decide about them, in the order of their sequence numbers.
CREATE FUNCTION gwk_due_scheduled(max_messages integer) RETURNS TABLE (
  message_id uuid, now timestamptz, instance_policy jsonb, account_policy jsonb, is_group boolean,
  last_wrote_at timestamptz
)
LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
  SELECT o.message_id, clock_timestamp(), i.policy, a.policy, v.group_id IS NOT NULL, v.last_wrote_at::timestamptz
  FROM (SELECT * FROM outbox s WHERE s.release_at <= now() AND s.state = 'scheduled'
        ORDER BY s.release_at, s.created_at, s.message_id LIMIT max_messages) AS o
  JOIN instances i ON i.id = o.instance_id
  JOIN accounts a ON a.id = i.account_id
  JOIN conversations v ON v.id = o.conversation_id
  ORDER BY o.release_at, o.created_at, o.message_id
$$;

-- Gives scheduled messages their sequence numbers in the order of acceptance, or postpones those with a new time. The
-- offline clock of a released message starts here. Returns the released heads.
CREATE FUNCTION gwk_release_scheduled(message_ids uuid[], new_times timestamptz[])
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

-- Read by retention.
CREATE INDEX instance_states_ended_idx ON instance_states (ended_at) WHERE ended_at IS NOT NULL;

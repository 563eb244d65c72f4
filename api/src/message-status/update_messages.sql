-- Applies changes with their events if the message still has the version that was decided on. The caller decides the
-- others again. Returns the updated messages.
-- instance_ids, epochs, holders: the engines that report changes; none for a job. Changes of fenced engines are left
-- out; those of a deleted instance are applied, because its messages have left.
-- changes: columns of messages by name (id, version, and all that the UPDATE sets), place, needs and queue.
-- place: the engine that reports the change, from 1.
-- needs: 'claim' (the engine holds the message claimed), 'unattempted' (no engine has started to send it), or NULL.
-- queue: 'keep', 'finish' (remove the entry, promote the next one, delete the content after 24 h) or 'return' (back to
-- waiting at its position; never attempted if `queued` again).
-- events: {message_id, id, account_id, instance_id, type, by_default, at, data (base64)}.
-- waiting: whether the instance of each engine has something to claim: waiting heads, and heads that another lease holds.
CREATE OR REPLACE FUNCTION gwk_update_messages(
  instance_ids uuid[], epochs integer[], holders uuid[], changes jsonb, events jsonb
) RETURNS TABLE (updated uuid[], refusals text[], waiting boolean[])
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off
AS $$
DECLARE
  ids uuid[] := ARRAY(SELECT c.id FROM jsonb_to_recordset(changes) AS c(id uuid));
  -- Most changes are receipts, which do not touch the queue: they skip its locks and lookups.
  queued uuid[] := ARRAY(
    SELECT c.id FROM jsonb_to_recordset(changes) AS c(id uuid, queue text) WHERE c.queue <> 'keep');
  finished uuid[];
  headless uuid[];
  lowest uuid;
  highest uuid;
BEGIN
  refusals := gwk_fence(instance_ids, epochs, holders);
  SELECT s.lowest, s.highest INTO lowest, highest FROM gwk_id_range(ids) AS s;
  IF queued <> '{}' THEN
    PERFORM gwk_lock_conversations(queued);
  END IF;

  updated := ARRAY(
    SELECT m.id FROM messages m
    JOIN jsonb_to_recordset(changes) AS c(id uuid, version integer, place integer, needs text) ON c.id = m.id
    WHERE m.version = c.version AND m.id = ANY (ids) AND m.id BETWEEN lowest AND highest
      AND refusals[c.place] IS DISTINCT FROM 'fenced' AND (c.needs IS NULL OR EXISTS (
        SELECT FROM outbox o
        WHERE o.message_id = c.id AND CASE c.needs
          WHEN 'claim' THEN o.state = 'claimed' AND o.claim_epoch = epochs[c.place] AND o.claim_holder = holders[c.place]
          ELSE o.attempted_at IS NULL END))
    ORDER BY m.id FOR NO KEY UPDATE OF m);

  UPDATE messages m
  SET status = c.status, sent_at = c.sent_at, delivered_at = c.delivered_at, read_at = c.read_at,
    failed_at = c.failed_at, error_code = c.error_code, error_message = c.error_message,
    rendered_as = c.rendered_as, played = c.played, version = m.version + 1, updated_at = now()
  FROM jsonb_populate_recordset(NULL::messages, changes) AS c
  WHERE m.id = c.id AND m.id = ANY (updated) AND m.id BETWEEN lowest AND highest;

  IF queued <> '{}' THEN
    WITH removed AS (
      DELETE FROM outbox o
      USING jsonb_to_recordset(changes) AS c(id uuid, queue text)
      WHERE o.message_id = c.id AND c.queue = 'finish' AND c.id = ANY (updated)
      RETURNING o.conversation_id, o.head
    )
    SELECT array_agg(g.conversation_id) FILTER (WHERE g.head) INTO headless FROM removed g;
    PERFORM gwk_promote_heads(headless);

    IF changes @> '[{"queue": "return"}]' THEN
      UPDATE outbox o
      SET state = 'waiting', claim_id = NULL, claim_epoch = NULL, claim_holder = NULL, claimed_at = NULL,
        attempted_at = CASE WHEN c.status = 'queued' THEN NULL ELSE o.attempted_at END
      FROM jsonb_to_recordset(changes) AS c(id uuid, queue text, status text)
      WHERE o.message_id = c.id AND c.queue = 'return' AND c.id = ANY (updated);
    END IF;

    finished := ARRAY(
      SELECT c.id FROM jsonb_to_recordset(changes) AS c(id uuid, queue text)
      WHERE c.queue = 'finish' AND c.id = ANY (updated));
    UPDATE message_contents c SET delete_at = now() + interval '24 hours' WHERE c.message_id = ANY (finished);

    -- A menu counts once it is sent. The menu of a failed message is deleted, except after a timeout: that message may
    -- have left.
    IF EXISTS (SELECT FROM menus n WHERE n.message_id = ANY (finished)) THEN
      UPDATE menus n SET sent_at = m.sent_at FROM messages m
      WHERE n.message_id = ANY (finished) AND m.id = n.message_id AND m.id = ANY (finished)
        AND m.id BETWEEN lowest AND highest
        AND m.sent_at IS NOT NULL;
      DELETE FROM menus n USING messages m
      WHERE n.message_id = ANY (finished) AND m.id = n.message_id AND m.id = ANY (finished)
        AND m.id BETWEEN lowest AND highest
        AND m.status = 'failed' AND m.error_code <> 'timeout';
    END IF;
  END IF;

  PERFORM gwk_emit(events, updated);
  waiting := ARRAY(
    SELECT EXISTS (
      SELECT FROM outbox o WHERE o.instance_id = i.id AND o.head AND o.prepared AND o.state = 'waiting')
      OR EXISTS (
        SELECT FROM outbox o WHERE o.instance_id = i.id AND o.claim_id IS NOT NULL AND o.head AND o.prepared
          AND (o.claim_epoch, o.claim_holder) IS DISTINCT FROM (i.epoch, i.holder))
    FROM unnest(instance_ids, epochs, holders) WITH ORDINALITY AS i(id, epoch, holder, place)
    ORDER BY i.place);
  RETURN NEXT;
END $$;

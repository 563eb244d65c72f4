-- Merges a conversation into another of the same instance. The caller holds both.
--
-- Waiting messages of both form one queue by acceptance time (in the same millisecond by their ids), and each conversation
-- keeps its own order. Claimed messages stay in front, except those behind a waiting one of their own conversation: an
-- engine claimed the earlier message and returned it.
CREATE OR REPLACE FUNCTION gwk_merge_conversations(target_id uuid, source_id uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  base_seq bigint;
  waiting bigint;
BEGIN
  SELECT max(v.last_seq) INTO base_seq FROM conversations v WHERE v.id IN (target_id, source_id);
  WITH own AS (
    SELECT o.message_id, o.conversation_id, o.seq, bool_and(o.state = 'claimed') OVER in_order AS claimed,
      max(o.created_at) OVER in_order AS since, max(o.message_id::text) OVER in_order AS newest
    FROM outbox o WHERE o.conversation_id IN (target_id, source_id) AND o.seq IS NOT NULL
    WINDOW in_order AS (PARTITION BY o.conversation_id ORDER BY o.seq)
  ), ordered AS (
    SELECT w.message_id, row_number() OVER (ORDER BY w.claimed DESC, w.since, w.newest, w.seq) AS place
    FROM own w
  ), moved AS (
    UPDATE outbox o SET conversation_id = target_id, head = false, seq = base_seq + l.place
    FROM ordered l WHERE o.message_id = l.message_id
    RETURNING o.message_id
  )
  SELECT count(*) INTO waiting FROM moved;
  UPDATE outbox o SET conversation_id = target_id WHERE o.conversation_id = source_id;
  UPDATE outbox o SET head = true, head_since = COALESCE(o.head_since, now())
  WHERE o.conversation_id = target_id AND o.seq = base_seq + 1;

  UPDATE conversations k
  SET last_seq = base_seq + waiting, last_wrote_at = GREATEST(k.last_wrote_at, g.last_wrote_at),
    first_sent_at = f.first_sent_at, first_sent_no = f.first_sent_no,
    timer_s = CASE WHEN g.timer_set_at > k.timer_set_at OR k.timer_set_at IS NULL THEN g.timer_s ELSE k.timer_s END,
    timer_set_at = GREATEST(k.timer_set_at, g.timer_set_at),
    lid = CASE WHEN k.lid IS NULL THEN g.lid ELSE k.lid END, phone = CASE WHEN k.lid IS NULL THEN g.phone ELSE k.phone END,
    username = COALESCE(k.username, g.username), started_at = LEAST(k.started_at, g.started_at),
    last_message_id = GREATEST(k.last_message_id, g.last_message_id), unread = k.unread + g.unread
  FROM conversations g
  CROSS JOIN LATERAL (
    SELECT v.first_sent_at, v.first_sent_no FROM conversations v WHERE v.id IN (target_id, source_id)
    ORDER BY v.first_sent_no NULLS LAST LIMIT 1
  ) AS f
  WHERE k.id = target_id AND g.id = source_id;

  UPDATE messages m SET conversation_id = target_id WHERE m.conversation_id = source_id;
  UPDATE events e SET conversation_id = target_id WHERE e.conversation_id = source_id;
  -- Reads partitions, so it comes after `messages`: the lock order of a partition drop.
  UPDATE conversations k SET days = gwk_merge_days(k.days, g.days)
  FROM conversations g WHERE k.id = target_id AND g.id = source_id;
  UPDATE menus m SET conversation_id = target_id WHERE m.conversation_id = source_id;
  INSERT INTO inbound_seen (conversation_id, participant, wa_message_id, message_id, seen_at)
  SELECT target_id, s.participant, s.wa_message_id, s.message_id, s.seen_at FROM inbound_seen s
  WHERE s.conversation_id = source_id
  ON CONFLICT DO NOTHING;
  DELETE FROM conversations v WHERE v.id = source_id;
END $$;

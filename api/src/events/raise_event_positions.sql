-- Later events get positions above all that a client can have read: those of the restored events, which another server may
-- have written, and those after the backup. No server writes a thousand million transactions between two backups. The lock
-- waits for transactions that have written events, so that none of them commits with a position from before.
CREATE OR REPLACE FUNCTION gwk_raise_event_positions() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  newest bigint := (
    SELECT max(n.position) FROM accounts a
    CROSS JOIN LATERAL (SELECT e.position FROM events e WHERE e.account_id = a.id ORDER BY e.position DESC LIMIT 1) n);
BEGIN
  LOCK TABLE events IN SHARE ROW EXCLUSIVE MODE;
  UPDATE event_position_shift
  SET shift = shift + 1000000000 + greatest(0, COALESCE(newest, 0) - gwk_event_position());
END $$;

-- Merges days into the days of a conversation, ascending and distinct. A transaction that writes a message locks the
-- conversation and adds the message's day, so lists skip all other days.
--
-- At each multiple of 16 days, days before the oldest message are removed. The oldest partition or the oldest row of
-- the default partition decides, because retention is a setting of the workers and may change.
CREATE OR REPLACE FUNCTION gwk_merge_days(current_days integer[], added_days integer[]) RETURNS integer[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
  days integer[] := current_days || added_days;
  oldest integer;
BEGIN
  -- Days can arrive out of order: clocks differ, and contacts are merged.
  IF (current_days[cardinality(current_days)] < added_days[1]) IS NOT TRUE THEN
    days := ARRAY(SELECT DISTINCT d FROM unnest(days) AS d ORDER BY d);
  END IF;
  IF cardinality(days) % 16 = 0 THEN
    oldest := LEAST(
      (SELECT to_date(right(c.relname, 8), 'YYYYMMDD') - DATE '1970-01-01' FROM pg_class c
       WHERE c.relname > 'messages_' AND c.relname ~ '^messages_[0-9]{8}$' ORDER BY c.relname LIMIT 1),
      (SELECT gwk_id_day(m.id) FROM messages_default m ORDER BY m.id LIMIT 1),
      -- The calling statement may be the one that writes this day.
      added_days[1]);
    days := ARRAY(SELECT d FROM unnest(days) AS d WHERE d >= oldest ORDER BY d);
  END IF;
  RETURN days;
END $$;

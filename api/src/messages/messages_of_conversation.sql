-- Searches only the days of the conversation. Each query opens all partitions and prunes those outside its bounds,
-- which takes as long as opening four. So the newest day comes first, which fills most pages. Then come runs of
-- consecutive days, up to twice as many in each query.
CREATE OR REPLACE FUNCTION gwk_messages_of_conversation(
  conversation uuid, status_filter text, type_filter text, low uuid, high uuid, max_rows integer
)
RETURNS SETOF messages LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
DECLARE
  days integer[] := (SELECT v.days FROM conversations v WHERE v.id = conversation);
  first_day integer := gwk_id_day(low);
  last_day integer := gwk_id_day(high);
  place integer := cardinality(days);
  max_days integer := 1;
  min_place integer;
  since uuid;
  until uuid;
  returned_rows integer;
BEGIN
  WHILE days[place] > last_day LOOP
    place := place - 1;
  END LOOP;
  WHILE days[place] >= first_day AND max_rows > 0 LOOP
    until := LEAST(high, gwk_lowest_id(to_timestamp((days[place] + 1) * 86400.0)));
    min_place := place - max_days + 1;
    WHILE place > min_place AND days[place - 1] = days[place] - 1 LOOP
      place := place - 1;
    END LOOP;
    since := GREATEST(low, gwk_lowest_id(to_timestamp(days[place] * 86400.0)));
    RETURN QUERY
    SELECT n.* FROM messages n
    WHERE (n.conversation_id, gwk_id_bucket_4s(n.id)) >= (conversation, gwk_id_bucket_4s(since))
      AND (n.conversation_id, gwk_id_bucket_4s(n.id)) <= (conversation, gwk_id_bucket_4s(until))
      AND n.id >= since AND n.id < until AND (status_filter IS NULL OR n.status = status_filter)
      AND (type_filter IS NULL OR n.type = type_filter)
    ORDER BY n.conversation_id DESC, gwk_id_bucket_4s(n.id) DESC, n.id DESC LIMIT max_rows;
    GET DIAGNOSTICS returned_rows = ROW_COUNT;
    max_rows := max_rows - returned_rows;
    place := place - 1;
    max_days := LEAST(max_days * 2, 32);
  END LOOP;
END $$;

-- SQL of lists: newest rows of tables partitioned by day (UTC), with ids from `low` (included) to `high` (excluded), at
-- most `max_rows`. A filter that is NULL matches all rows. Every statement must use the owner's index: a plan made for
-- few rows would otherwise sort all rows of a day (api/prisma/README.md).

CREATE FUNCTION gwk_messages_of_account(account uuid, status_filter text, low uuid, high uuid, max_rows integer)
RETURNS SETOF messages LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT n.* FROM messages n
  WHERE (n.account_id, gwk_id_bucket_256ms(n.id)) >= (account, gwk_id_bucket_256ms(low))
    AND (n.account_id, gwk_id_bucket_256ms(n.id)) <= (account, gwk_id_bucket_256ms(high))
    AND n.id >= low AND n.id < high AND (status_filter IS NULL OR n.status = status_filter)
  ORDER BY n.account_id DESC, gwk_id_bucket_256ms(n.id) DESC, n.id DESC LIMIT max_rows;
END $$;

-- One index lookup per owner. With all owners in one condition, Postgres reads messages by id until enough match: for
-- rare owners, all messages.
CREATE FUNCTION gwk_messages_of_instances(instances uuid[], status_filter text, low uuid, high uuid, max_rows integer)
RETURNS SETOF messages LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT m.* FROM unnest(instances) AS owner(id)
  CROSS JOIN LATERAL (
    SELECT n.* FROM messages n
    WHERE (n.instance_id, gwk_id_bucket_256ms(n.id)) >= (owner.id, gwk_id_bucket_256ms(low))
      AND (n.instance_id, gwk_id_bucket_256ms(n.id)) <= (owner.id, gwk_id_bucket_256ms(high))
      AND n.id >= low AND n.id < high AND (status_filter IS NULL OR n.status = status_filter)
    ORDER BY n.instance_id DESC, gwk_id_bucket_256ms(n.id) DESC, n.id DESC LIMIT max_rows) AS m
  ORDER BY m.id DESC LIMIT max_rows;
END $$;

-- Searches only the days of the conversation. Each query opens all partitions and prunes those outside its bounds,
-- which takes as long as opening four. So the newest day comes first, which fills most pages. Then come runs of
-- consecutive days, up to twice as many in each query.
CREATE FUNCTION gwk_messages_of_conversation(
  conversation uuid, status_filter text, low uuid, high uuid, max_rows integer
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
    ORDER BY n.conversation_id DESC, gwk_id_bucket_4s(n.id) DESC, n.id DESC LIMIT max_rows;
    GET DIAGNOSTICS returned_rows = ROW_COUNT;
    max_rows := max_rows - returned_rows;
    place := place - 1;
    max_days := LEAST(max_days * 2, 32);
  END LOOP;
END $$;

CREATE FUNCTION gwk_messages_of_conversations(
  conversations uuid[], status_filter text, low uuid, high uuid, max_rows integer
)
RETURNS SETOF messages LANGUAGE sql STABLE
AS $$
  SELECT m.* FROM unnest(conversations) AS owner(id)
  CROSS JOIN LATERAL gwk_messages_of_conversation(owner.id, status_filter, low, high, max_rows) AS m
  ORDER BY m.id DESC LIMIT max_rows
$$;

-- Failed messages are few and have an index of their own, by failed_at. `instance_filter`: NULL matches all.
CREATE FUNCTION gwk_failed_messages(account uuid, instance_filter uuid[], low uuid, high uuid, max_rows integer)
RETURNS SETOF messages LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT n.* FROM messages n
  WHERE (n.account_id, n.id) >= (account, low) AND (n.account_id, n.id) < (account, high)
    AND n.id >= low AND n.id < high AND n.failed_at IS NOT NULL AND n.status = 'failed'
    AND (instance_filter IS NULL OR n.instance_id = ANY (instance_filter))
  ORDER BY n.account_id DESC, n.id DESC LIMIT max_rows;
END $$;

-- Events have an index by account and type.
CREATE FUNCTION gwk_events_of_account(account uuid, type_filter text, low uuid, high uuid, max_rows integer)
RETURNS SETOF events LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  IF type_filter IS NULL THEN
    RETURN QUERY
    SELECT n.* FROM events n
    WHERE (n.account_id, n.id) >= (account, low) AND (n.account_id, n.id) < (account, high)
      AND n.id >= low AND n.id < high
    ORDER BY n.account_id DESC, n.id DESC LIMIT max_rows;
  ELSE
    RETURN QUERY
    SELECT n.* FROM events n
    WHERE (n.account_id, n.type, n.id) >= (account, type_filter, low)
      AND (n.account_id, n.type, n.id) < (account, type_filter, high) AND n.id >= low AND n.id < high
    ORDER BY n.account_id DESC, n.type DESC, n.id DESC LIMIT max_rows;
  END IF;
END $$;

CREATE FUNCTION gwk_events_of_instances(instances uuid[], type_filter text, low uuid, high uuid, max_rows integer)
RETURNS SETOF events LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT m.* FROM unnest(instances) AS owner(id)
  CROSS JOIN LATERAL (
    SELECT n.* FROM events n
    WHERE (n.instance_id, n.id) >= (owner.id, low) AND (n.instance_id, n.id) < (owner.id, high)
      AND n.id >= low AND n.id < high AND (type_filter IS NULL OR n.type = type_filter)
    ORDER BY n.instance_id DESC, n.id DESC LIMIT max_rows) AS m
  ORDER BY m.id DESC LIMIT max_rows;
END $$;

-- `instance_filter`: these instances, and deliveries without one; NULL: all. Failed deliveries have an index of their
-- own.
CREATE FUNCTION gwk_deliveries_of_endpoint(
  endpoint uuid, status_filter text, instance_filter uuid[], low uuid, high uuid, max_rows integer
)
RETURNS SETOF webhook_deliveries LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  IF status_filter = 'failed' THEN
    RETURN QUERY
    SELECT n.* FROM webhook_deliveries n
    WHERE (n.endpoint_id, n.id) >= (endpoint, low) AND (n.endpoint_id, n.id) < (endpoint, high)
      AND n.id >= low AND n.id < high AND n.status = 'failed'
      AND (instance_filter IS NULL OR n.instance_id = ANY (instance_filter) OR n.instance_id IS NULL)
    ORDER BY n.endpoint_id DESC, n.id DESC LIMIT max_rows;
  ELSE
    RETURN QUERY
    SELECT n.* FROM webhook_deliveries n
    WHERE (n.endpoint_id, n.id) >= (endpoint, low) AND (n.endpoint_id, n.id) < (endpoint, high)
      AND n.id >= low AND n.id < high AND (status_filter IS NULL OR n.status = status_filter)
      AND (instance_filter IS NULL OR n.instance_id = ANY (instance_filter) OR n.instance_id IS NULL)
    ORDER BY n.endpoint_id DESC, n.id DESC LIMIT max_rows;
  END IF;
END $$;

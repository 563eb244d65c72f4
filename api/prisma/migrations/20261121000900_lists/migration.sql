-- The SQL of lists: the newest rows of tables that are partitioned by day (UTC), from one id on (`low`, included) until
-- another (`high`, left out), newest first, `amount` of them at most. `wanted`: of this kind alone; null: of any.
--
-- Each statement is planned once a connection, and goes by the owner's index whatever Postgres knows of the table by
-- then. A plan that is made while a day has few rows would read and sort all of them, and be kept once they are
-- thousands; one that is made anew for each page costs more than the page, and more the more there is to know.
--
-- So nothing is sorted that an index has in order, and the order begins with the owner, who is bounded and not equal: an
-- equal one is left out of the order, which the primary key has as well then, and where owners are few, to read all rows
-- of the day by that, for those of one owner, looks cheap. `id` is bounded by itself besides, so that partitions are left
-- out.

CREATE FUNCTION gwk_messages_of_account(account uuid, wanted text, low uuid, high uuid, amount integer)
RETURNS SETOF messages LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT n.* FROM messages n
  WHERE (n.account_id, gwk_tick_of(n.id)) >= (account, gwk_tick_of(low))
    AND (n.account_id, gwk_tick_of(n.id)) <= (account, gwk_tick_of(high))
    AND n.id >= low AND n.id < high AND (wanted IS NULL OR n.status = wanted)
  ORDER BY n.account_id DESC, gwk_tick_of(n.id) DESC, n.id DESC LIMIT amount;
END $$;

-- Several owners are looked at one after the other, each by the index: asked for all of them at once, Postgres reads
-- messages by their ids until enough are found that are theirs, which are all there are where theirs are few.
CREATE FUNCTION gwk_messages_of_instances(instances uuid[], wanted text, low uuid, high uuid, amount integer)
RETURNS SETOF messages LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT m.* FROM unnest(instances) AS owner(id)
  CROSS JOIN LATERAL (
    SELECT n.* FROM messages n
    WHERE (n.instance_id, gwk_tick_of(n.id)) >= (owner.id, gwk_tick_of(low))
      AND (n.instance_id, gwk_tick_of(n.id)) <= (owner.id, gwk_tick_of(high))
      AND n.id >= low AND n.id < high AND (wanted IS NULL OR n.status = wanted)
    ORDER BY n.instance_id DESC, gwk_tick_of(n.id) DESC, n.id DESC LIMIT amount) AS m
  ORDER BY m.id DESC LIMIT amount;
END $$;

-- A conversation knows its days, and is looked for on no others. Each look begins with all partitions that there are and
-- leaves out those that are not between its ends, which takes as long as to open four. So the newest day comes first, with
-- which most pages are full; then days that follow one another together, twice as many in each look.
CREATE FUNCTION gwk_messages_in(conversation uuid, wanted text, low uuid, high uuid, amount integer)
RETURNS SETOF messages LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
DECLARE
  days integer[] := (SELECT v.days FROM conversations v WHERE v.id = conversation);
  first_day integer := gwk_day_of(low);
  last_day integer := gwk_day_of(high);
  place integer := cardinality(days);
  most integer := 1;
  fewest integer;
  since uuid;
  until uuid;
  found integer;
BEGIN
  WHILE days[place] > last_day LOOP
    place := place - 1;
  END LOOP;
  WHILE days[place] >= first_day AND amount > 0 LOOP
    until := LEAST(high, gwk_lowest_id(to_timestamp((days[place] + 1) * 86400.0)));
    fewest := place - most + 1;
    WHILE place > fewest AND days[place - 1] = days[place] - 1 LOOP
      place := place - 1;
    END LOOP;
    since := GREATEST(low, gwk_lowest_id(to_timestamp(days[place] * 86400.0)));
    RETURN QUERY
    SELECT n.* FROM messages n
    WHERE (n.conversation_id, gwk_stretch_of(n.id)) >= (conversation, gwk_stretch_of(since))
      AND (n.conversation_id, gwk_stretch_of(n.id)) <= (conversation, gwk_stretch_of(until))
      AND n.id >= since AND n.id < until AND (wanted IS NULL OR n.status = wanted)
    ORDER BY n.conversation_id DESC, gwk_stretch_of(n.id) DESC, n.id DESC LIMIT amount;
    GET DIAGNOSTICS found = ROW_COUNT;
    amount := amount - found;
    place := place - 1;
    most := LEAST(most * 2, 32);
  END LOOP;
END $$;

CREATE FUNCTION gwk_messages_with(conversations uuid[], wanted text, low uuid, high uuid, amount integer)
RETURNS SETOF messages LANGUAGE sql STABLE
AS $$
  SELECT m.* FROM unnest(conversations) AS owner(id)
  CROSS JOIN LATERAL gwk_messages_in(owner.id, wanted, low, high, amount) AS m
  ORDER BY m.id DESC LIMIT amount
$$;

-- Failed ones are few, and have an index of their own that is told by when they failed. `theirs`: of these instances
-- alone; null: of any.
CREATE FUNCTION gwk_failed_messages(account uuid, theirs uuid[], low uuid, high uuid, amount integer)
RETURNS SETOF messages LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT n.* FROM messages n
  WHERE (n.account_id, n.id) >= (account, low) AND (n.account_id, n.id) < (account, high)
    AND n.id >= low AND n.id < high AND n.failed_at IS NOT NULL AND n.status = 'failed'
    AND (theirs IS NULL OR n.instance_id = ANY (theirs))
  ORDER BY n.account_id DESC, n.id DESC LIMIT amount;
END $$;

-- There is an index of an account's events of one type.
CREATE FUNCTION gwk_events_of_account(account uuid, wanted text, low uuid, high uuid, amount integer)
RETURNS SETOF events LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  IF wanted IS NULL THEN
    RETURN QUERY
    SELECT n.* FROM events n
    WHERE (n.account_id, n.id) >= (account, low) AND (n.account_id, n.id) < (account, high)
      AND n.id >= low AND n.id < high
    ORDER BY n.account_id DESC, n.id DESC LIMIT amount;
  ELSE
    RETURN QUERY
    SELECT n.* FROM events n
    WHERE (n.account_id, n.type, n.id) >= (account, wanted, low)
      AND (n.account_id, n.type, n.id) < (account, wanted, high) AND n.id >= low AND n.id < high
    ORDER BY n.account_id DESC, n.type DESC, n.id DESC LIMIT amount;
  END IF;
END $$;

CREATE FUNCTION gwk_events_of_instances(instances uuid[], wanted text, low uuid, high uuid, amount integer)
RETURNS SETOF events LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
  SELECT m.* FROM unnest(instances) AS owner(id)
  CROSS JOIN LATERAL (
    SELECT n.* FROM events n
    WHERE (n.instance_id, n.id) >= (owner.id, low) AND (n.instance_id, n.id) < (owner.id, high)
      AND n.id >= low AND n.id < high AND (wanted IS NULL OR n.type = wanted)
    ORDER BY n.instance_id DESC, n.id DESC LIMIT amount) AS m
  ORDER BY m.id DESC LIMIT amount;
END $$;

-- `theirs`: what concerns these instances or none; null: all. There is an index of those that failed.
CREATE FUNCTION gwk_deliveries_to(endpoint uuid, wanted text, theirs uuid[], low uuid, high uuid, amount integer)
RETURNS SETOF webhook_deliveries LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  IF wanted = 'failed' THEN
    RETURN QUERY
    SELECT n.* FROM webhook_deliveries n
    WHERE (n.endpoint_id, n.id) >= (endpoint, low) AND (n.endpoint_id, n.id) < (endpoint, high)
      AND n.id >= low AND n.id < high AND n.status = 'failed'
      AND (theirs IS NULL OR n.instance_id = ANY (theirs) OR n.instance_id IS NULL)
    ORDER BY n.endpoint_id DESC, n.id DESC LIMIT amount;
  ELSE
    RETURN QUERY
    SELECT n.* FROM webhook_deliveries n
    WHERE (n.endpoint_id, n.id) >= (endpoint, low) AND (n.endpoint_id, n.id) < (endpoint, high)
      AND n.id >= low AND n.id < high AND (wanted IS NULL OR n.status = wanted)
      AND (theirs IS NULL OR n.instance_id = ANY (theirs) OR n.instance_id IS NULL)
    ORDER BY n.endpoint_id DESC, n.id DESC LIMIT amount;
  END IF;
END $$;

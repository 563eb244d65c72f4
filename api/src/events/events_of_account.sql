-- Events have an index by account and type.
CREATE OR REPLACE FUNCTION gwk_events_of_account(account uuid, type_filter text, low uuid, high uuid, max_rows integer)
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

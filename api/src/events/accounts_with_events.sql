-- The accounts among those asked that have events from a position on, below the horizon.
CREATE OR REPLACE FUNCTION gwk_accounts_with_events(accounts uuid[], positions bigint[], low uuid) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
  horizon bigint := gwk_event_horizon();
BEGIN
  RETURN QUERY
  SELECT a.account FROM unnest(accounts, positions) AS a(account, first) WHERE EXISTS (
    SELECT FROM events n
    WHERE n.account_id = a.account AND n.position >= a.first AND n.position < horizon AND n.id >= low);
END $$;

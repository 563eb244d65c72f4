-- Messages of other types than text are few and have an index of their own, by type.
CREATE OR REPLACE FUNCTION gwk_messages_of_account(
  account uuid, status_filter text, type_filter text, low uuid, high uuid, max_rows integer
)
RETURNS SETOF messages LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
BEGIN
  IF type_filter <> 'text' THEN
    RETURN QUERY
    SELECT n.* FROM messages n
    WHERE (n.account_id, n.type, gwk_id_bucket_256ms(n.id)) >= (account, type_filter, gwk_id_bucket_256ms(low))
      AND (n.account_id, n.type, gwk_id_bucket_256ms(n.id)) <= (account, type_filter, gwk_id_bucket_256ms(high))
      AND n.type <> 'text' AND n.id >= low AND n.id < high AND (status_filter IS NULL OR n.status = status_filter)
    ORDER BY n.account_id DESC, n.type DESC, gwk_id_bucket_256ms(n.id) DESC, n.id DESC LIMIT max_rows;
    RETURN;
  END IF;
  RETURN QUERY
  SELECT n.* FROM messages n
  WHERE (n.account_id, gwk_id_bucket_256ms(n.id)) >= (account, gwk_id_bucket_256ms(low))
    AND (n.account_id, gwk_id_bucket_256ms(n.id)) <= (account, gwk_id_bucket_256ms(high))
    AND n.id >= low AND n.id < high AND (status_filter IS NULL OR n.status = status_filter)
    AND (type_filter IS NULL OR n.type = type_filter)
  ORDER BY n.account_id DESC, gwk_id_bucket_256ms(n.id) DESC, n.id DESC LIMIT max_rows;
END $$;

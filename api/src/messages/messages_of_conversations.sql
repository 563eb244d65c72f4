CREATE OR REPLACE FUNCTION gwk_messages_of_conversations(
  conversations uuid[], status_filter text, type_filter text, low uuid, high uuid, max_rows integer
)
RETURNS SETOF messages LANGUAGE sql STABLE
AS $$
  SELECT m.* FROM unnest(conversations) AS owner(id)
  CROSS JOIN LATERAL gwk_messages_of_conversation(owner.id, status_filter, type_filter, low, high, max_rows) AS m
  ORDER BY m.id DESC LIMIT max_rows
$$;

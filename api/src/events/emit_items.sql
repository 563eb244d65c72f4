-- gwk_emit for events as JSON (eventItem in api/src/events/emit.ts), limited to messages that changed.
CREATE OR REPLACE FUNCTION gwk_emit_items(events jsonb, changed uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM gwk_emit(
    array_agg(e.id ORDER BY e.id), array_agg(e.account_id ORDER BY e.id), array_agg(e.instance_id ORDER BY e.id),
    array_agg(e.type ORDER BY e.id), array_agg(e.by_default ORDER BY e.id), array_agg(e.at ORDER BY e.id),
    array_agg(decode(e.data, 'base64') ORDER BY e.id))
  FROM jsonb_to_recordset(events) AS e(
    message_id uuid, id uuid, account_id uuid, instance_id uuid, type text, by_default boolean, at timestamptz,
    data text)
  WHERE e.message_id = ANY (changed)
  HAVING count(*) > 0;
END $$;

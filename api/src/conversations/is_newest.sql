-- Whether a conversation is with a contact and the newest one with it in these instances.
CREATE OR REPLACE FUNCTION gwk_is_newest(v conversations, instances uuid[]) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT v.contact_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM conversations o
    WHERE o.contact_id = v.contact_id AND o.last_message_id > v.last_message_id
      -- Not `= ANY`, which would look up each instance in an index.
      AND array_position(instances, o.instance_id) > 0)
$$;

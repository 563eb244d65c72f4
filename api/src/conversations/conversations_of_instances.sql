-- Conversations of instances, most recently active first, below a message (`high`): one index lookup per instance.
-- people: only contacts, and of each contact only the newest conversation in these instances.
-- needle: part of a name, username or subject, folded (gwk_fold_name). digits: part of a phone number. NULL: all.
-- A conversation is found by the names that its own instance knows (gwk_contact_ids).
-- All names of the account are searched for a needle first, because a rare one has few contacts. With a common needle, the
-- newest conversations soon fill a page.
-- A time slot is read as a whole (WITH TIES): sorted by message, any index of the instance would seem as good as that of slots.
CREATE OR REPLACE FUNCTION gwk_conversations_of_instances(
  account uuid, instances uuid[], people boolean, needle text, digits text, high uuid, max_rows integer
)
RETURNS SETOF conversations LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET enable_sort = off SET enable_incremental_sort = off
AS $$
DECLARE
  high_slot integer := gwk_id_slot(high);
  max_found CONSTANT integer := 1000;
  forms text[] := string_to_array(gwk_phone_forms(digits), ' ');
  found uuid[];
BEGIN
  IF needle IS NOT NULL THEN
    found := ARRAY(
      SELECT f.id FROM (
        SELECT c.id FROM contacts c WHERE c.account_id = account AND strpos(c.folded_name, needle) > 0
        UNION ALL
        SELECT n.contact_id FROM contact_names n
        WHERE n.account_id = account AND (strpos(lower(n.username), needle) > 0
          OR (digits IS NOT NULL AND (strpos(n.name, digits) > 0 OR strpos(n.phone, digits) > 0 OR n.name = ANY (forms))))
        UNION ALL
        SELECT v.contact_id FROM unnest(instances) AS owner(id)
        JOIN conversations v ON v.instance_id = owner.id AND (v.username IS NOT NULL OR v.subject IS NOT NULL)
        WHERE strpos(lower(v.username), needle) > 0
      ) AS f LIMIT max_found);
  END IF;
  IF needle IS NULL OR cardinality(found) = max_found THEN
    RETURN QUERY
    SELECT m.* FROM unnest(instances) AS owner(id)
    CROSS JOIN LATERAL (
      SELECT w.* FROM conversations w
      WHERE (w.instance_id, w.active_slot) >= (owner.id, 0) AND (w.instance_id, w.active_slot) <= (owner.id, high_slot)
        AND w.active_slot IS NOT NULL AND w.last_message_id < high
        AND (NOT people OR gwk_is_newest(w, instances))
        AND (needle IS NULL OR gwk_is_found(w, needle, digits))
      ORDER BY w.instance_id DESC, w.active_slot DESC FETCH FIRST (max_rows) ROWS WITH TIES) AS m
    ORDER BY m.last_message_id DESC LIMIT max_rows;
    RETURN;
  END IF;
  RETURN QUERY
  SELECT w.* FROM conversations w
  WHERE w.id = ANY (ARRAY(
      SELECT v.id FROM unnest(found) AS f(id) JOIN conversations v ON v.contact_id = f.id
      WHERE array_position(instances, v.instance_id) > 0
      UNION ALL
      SELECT v.id FROM unnest(instances) AS owner(id)
      JOIN conversations v ON v.instance_id = owner.id AND (v.username IS NOT NULL OR v.subject IS NOT NULL)
      WHERE strpos(gwk_fold_name(v.subject), needle) > 0))
    AND w.last_message_id < high AND (NOT people OR gwk_is_newest(w, instances)) AND gwk_is_found(w, needle, digits)
  ORDER BY w.last_message_id DESC LIMIT max_rows;
END $$;

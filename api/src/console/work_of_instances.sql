-- Number of waiting messages (at most `max_queue`) and newest message of each instance. The newest message of the last two
-- days comes from few partitions; the others are searched only for instances without one.
CREATE OR REPLACE FUNCTION gwk_work_of_instances(instances uuid[], max_queue integer)
RETURNS TABLE (id uuid, queue integer, last_message_id uuid) LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  recent CONSTANT uuid := gwk_lowest_id(now() - interval '2 days');
BEGIN
  FOREACH id IN ARRAY instances LOOP
    SELECT count(*) INTO queue FROM (
      SELECT FROM outbox h JOIN outbox o ON o.conversation_id = h.conversation_id AND o.seq >> 4 IS NOT NULL
      WHERE h.instance_id = gwk_work_of_instances.id AND h.head LIMIT max_queue) AS waiting;
    SELECT m.id INTO last_message_id FROM messages m
    WHERE m.instance_id = gwk_work_of_instances.id AND m.id >= recent
    ORDER BY m.instance_id DESC, gwk_id_bucket_256ms(m.id) DESC, m.id DESC LIMIT 1;
    IF last_message_id IS NULL THEN
      SELECT m.id INTO last_message_id FROM messages m
      WHERE m.instance_id = gwk_work_of_instances.id AND m.id < recent
      ORDER BY m.instance_id DESC, gwk_id_bucket_256ms(m.id) DESC, m.id DESC LIMIT 1;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

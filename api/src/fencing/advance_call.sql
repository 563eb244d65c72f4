-- Records the number of a call. False if this number or a higher one of the route is recorded, because a repeated call
-- keeps its number and the first attempt can arrive late (docs/decisions/0029-number-the-calls-of-engines.md). The
-- caller holds the lease. Concurrent calls of one route wait for each other here.
CREATE OR REPLACE FUNCTION gwk_advance_call(instance uuid, name text, lease_epoch integer, call_number bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO engine_calls AS c (instance_id, route, epoch, number) VALUES (instance, name, lease_epoch, call_number)
  ON CONFLICT (instance_id, route) DO UPDATE SET epoch = excluded.epoch, number = excluded.number
  WHERE c.epoch <> excluded.epoch OR c.number < excluded.number;
  RETURN FOUND;
END $$;

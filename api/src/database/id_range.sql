-- Lowest and highest of the ids; NULLs are ignored.
CREATE OR REPLACE FUNCTION gwk_id_range(ids uuid[], OUT lowest uuid, OUT highest uuid) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  id uuid;
BEGIN
  FOREACH id IN ARRAY COALESCE(ids, '{}') LOOP
    -- LEAST and GREATEST ignore NULLs.
    lowest := LEAST(lowest, id);
    highest := GREATEST(highest, id);
  END LOOP;
END $$;

-- Blocks vacuum on a partition until the transaction ends, and cancels a running autovacuum. The drop would otherwise
-- wait for it while its own lock blocks all readers. This lock blocks neither readers nor writers.
CREATE OR REPLACE FUNCTION gwk_lock_out_vacuum(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF to_regclass(name) IS NOT NULL THEN
    EXECUTE format('LOCK TABLE ONLY %s IN SHARE UPDATE EXCLUSIVE MODE', name::regclass);
  END IF;
END $$;

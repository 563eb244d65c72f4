-- Queues a file for removal from the store when its row is deleted or marked removed, in the same transaction.
CREATE OR REPLACE FUNCTION gwk_queue_media_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.removed_at IS NULL AND (TG_OP = 'DELETE' OR NEW.removed_at IS NOT NULL) THEN
    INSERT INTO store_removals (store_key, due_at) VALUES (OLD.store_key, date_trunc('milliseconds', now()))
    ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER media_removed AFTER DELETE OR UPDATE OF removed_at ON media
  FOR EACH ROW EXECUTE FUNCTION gwk_queue_media_removal();

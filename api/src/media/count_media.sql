-- Counts the stored files of each account in account_usage, in the transaction that adds or removes them.
CREATE OR REPLACE FUNCTION gwk_count_media() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO account_usage AS u (account_id, media_bytes, media_files)
    SELECT n.account_id, sum(n.size), count(*) FROM new_rows n WHERE n.removed_at IS NULL
    GROUP BY n.account_id ORDER BY n.account_id
    ON CONFLICT (account_id) DO UPDATE
    SET media_bytes = u.media_bytes + excluded.media_bytes, media_files = u.media_files + excluded.media_files;
    RETURN NULL;
  END IF;
  -- Two workers that remove files of several accounts lock them in the same order.
  PERFORM FROM account_usage u WHERE u.account_id IN (SELECT o.account_id FROM old_rows o)
  ORDER BY u.account_id FOR NO KEY UPDATE;
  IF TG_OP = 'DELETE' THEN
    UPDATE account_usage u SET media_bytes = u.media_bytes - r.bytes, media_files = u.media_files - r.files
    FROM (SELECT o.account_id, sum(o.size) AS bytes, count(*) AS files FROM old_rows o WHERE o.removed_at IS NULL
          GROUP BY o.account_id) AS r
    WHERE u.account_id = r.account_id;
  ELSE
    UPDATE account_usage u SET media_bytes = u.media_bytes - r.bytes, media_files = u.media_files - r.files
    FROM (SELECT o.account_id, sum(o.size) AS bytes, count(*) AS files FROM old_rows o JOIN new_rows n ON n.id = o.id
          WHERE o.removed_at IS NULL AND n.removed_at IS NOT NULL GROUP BY o.account_id) AS r
    WHERE u.account_id = r.account_id;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER media_inserted AFTER INSERT ON media
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION gwk_count_media();
CREATE OR REPLACE TRIGGER media_updated AFTER UPDATE ON media
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION gwk_count_media();
CREATE OR REPLACE TRIGGER media_deleted AFTER DELETE ON media
  REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION gwk_count_media();

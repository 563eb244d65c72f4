-- Counts the stored files of an account again. Returns whether the counters were wrong. The lock comes first: every
-- change before it is committed and counted, and every change after it waits.
CREATE OR REPLACE FUNCTION gwk_recount_media(account uuid) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  bytes bigint;
  files integer;
  wrong boolean;
BEGIN
  SELECT true INTO wrong FROM account_usage u WHERE u.account_id = account FOR NO KEY UPDATE;
  SELECT coalesce(sum(m.size), 0), count(*) INTO bytes, files
  FROM media m WHERE m.account_id = account AND m.removed_at IS NULL;
  SELECT (u.media_bytes, u.media_files) IS DISTINCT FROM (bytes, files) INTO wrong
  FROM account_usage u WHERE u.account_id = account;
  UPDATE account_usage u SET media_bytes = bytes, media_files = files, recounted_at = now()
  WHERE u.account_id = account;
  RETURN wrong IS TRUE;
END $$;

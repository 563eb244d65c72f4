-- Whether an account may store another file of this size. `factor` multiplies its limits. Locks the usage of the account
-- until the transaction ends, so that concurrent writers cannot exceed a limit together.
CREATE OR REPLACE FUNCTION gwk_storage_fits(
  account uuid, new_bytes bigint, default_bytes bigint, default_files bigint, factor integer
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO account_usage (account_id) VALUES (account) ON CONFLICT DO NOTHING;
  PERFORM FROM account_usage u WHERE u.account_id = account FOR NO KEY UPDATE;
  RETURN EXISTS (
    SELECT FROM account_usage u JOIN accounts a ON a.id = u.account_id
    WHERE u.account_id = account
      AND u.media_bytes + new_bytes <= coalesce(a.max_media_bytes, default_bytes) * factor
      AND u.media_files < coalesce(a.max_media_files, default_files) * factor);
END $$;

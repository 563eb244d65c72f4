-- For tables that every message writes to. Autovacuum would read them each minute and take 1 to 2 s of CPU. Vacuum
-- after inserts is off: all rows are changed or deleted soon, and vacuumed then. Statistics sample 3,000 rows instead
-- of 30,000, because plans do not depend on them (docs/decisions/0027-index-messages-by-time.md).
CREATE OR REPLACE FUNCTION gwk_tune_autovacuum(relation regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  change text;
BEGIN
  -- One statement: creating a partition locks the parent meanwhile.
  EXECUTE (
    SELECT format('ALTER TABLE %s SET (autovacuum_vacuum_insert_threshold = -1), %s', relation,
      string_agg(format('ALTER COLUMN %I SET STATISTICS 10', a.attname), ', '))
    FROM pg_attribute a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped);
  -- Expression indexes have statistics of their own.
  FOR change IN
    SELECT format('ALTER INDEX %s ALTER COLUMN %s SET STATISTICS 10', i.indexrelid::regclass, a.attnum)
    FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indexrelid AND i.indkey[a.attnum - 1] = 0
    WHERE i.indrelid = relation
  LOOP
    EXECUTE change;
  END LOOP;
END $$;

SELECT gwk_tune_autovacuum(relation)
FROM unnest(ARRAY['message_contents', 'outbox', 'idempotency_records', 'mass_sends', 'messages_default']::regclass[]) AS relation;

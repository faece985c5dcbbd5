-- Only `text_search: plain` reads search_tsv, and it works without. A collection that has corpora
-- keeps the column, because dropping it would have to wait for every search that runs.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_inherits WHERE inhparent = 'chunks'::regclass) THEN
        ALTER TABLE chunks DROP COLUMN search_tsv;
    END IF;
END $$;

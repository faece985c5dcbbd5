-- Chunks are searchable by words before they have a vector. The index is the queue of those that wait:
-- one chunk of every document before the second, the newest first. A chunk that the model cannot embed
-- keeps the reason, and no worker takes it again.
ALTER TABLE chunks ADD COLUMN embedding_error text;
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'chunks'::regclass AND attname = 'embedding') THEN
        CREATE INDEX ON chunks (ordinal, created_at DESC NULLS LAST, chunk_id)
            WHERE embedding IS NULL;
    END IF;
END $$;

-- A chunk's token sketch, for near-duplicates, is stored; an older chunk's is worked out at the question.
ALTER TABLE chunks ADD COLUMN IF NOT EXISTS token_sketch bytea;

-- A collection keeps the model of its first document; another model has a collection of its own.
ALTER TABLE chunks DROP COLUMN IF EXISTS next_embedding;
ALTER TABLE collection DROP COLUMN IF EXISTS next_model;
ALTER TABLE collection DROP COLUMN IF EXISTS next_space;
ALTER TABLE collection DROP COLUMN IF EXISTS next_dimensions;
-- The vectors of models that the collection had before.
DELETE FROM embedding_cache WHERE NOT EXISTS (
    SELECT 1 FROM collection c WHERE c.space = embedding_cache.space);

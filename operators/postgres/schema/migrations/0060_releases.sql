-- The passages of changelogs, each with the version of its release: a document that has no version and
-- whose chunks have some. What belongs to a topic has a lineage_id, or a document with a version.
CREATE INDEX chunks_release ON chunks (document_key)
    WHERE version IS NOT NULL AND lineage_id IS NULL;
CREATE VIEW releases AS
    SELECT c.corpus, c.chunk_id, c.document_key, c.version,
           d.repo, d.document_id, d.path, d.language, d.item_state
    FROM chunks c JOIN documents d USING (document_key)
    WHERE c.version IS NOT NULL AND c.lineage_id IS NULL AND d.version IS NULL;

-- A run stores names only for the documents that it writes. A corpus with documents that an earlier
-- release wrote and did not name, as in a killed run, is looked at completely once more.
UPDATE versioned_corpora SET rules = -1 WHERE corpus IN (
    SELECT d.corpus FROM documents d LEFT JOIN document_sketches s USING (document_key)
    WHERE d.state = 'indexed' AND CASE WHEN s.document_key IS NULL
        THEN d.corpus <> 'code' OR d.version IS NOT NULL
        ELSE s.path IS NULL OR s.indexed_at <> d.indexed_at END
);

-- The last part of an index's name stands behind two underscores, which no corpus's name has: no
-- corpus can meet an index's name. A rename does not keep searches or writers waiting.
DO $$
DECLARE found record;
BEGIN
    FOR found IN
        SELECT i.oid::regclass AS index, i.relname AS name
        FROM pg_class i JOIN pg_index x ON x.indexrelid = i.oid
        JOIN pg_inherits p ON p.inhrelid = x.indrelid
        WHERE p.inhparent IN ('chunks'::regclass, 'postings'::regclass)
          AND i.relname ~ '[^_]_(hnsw|terms|search_tsv|bm25)$' AND octet_length(i.relname) < 63
    LOOP
        EXECUTE format('ALTER INDEX %s RENAME TO %I', found.index,
                       regexp_replace(found.name, '_(hnsw|terms|search_tsv|bm25)$', '__\1'));
    END LOOP;
END $$;

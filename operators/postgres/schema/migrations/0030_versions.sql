-- Where each document stands among the versions of its topic; only topics with two versions or more.
CREATE TABLE document_versions (
    document_key uuid PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
    corpus text NOT NULL,
    lineage_id text NOT NULL,
    version text,
    position int NOT NULL,          -- 0: the oldest
    newest boolean NOT NULL,
    released_at timestamptz,        -- trusted date of this version, or null
    indexed_at timestamptz NOT NULL -- of the document, when its passages were compared
);
CREATE INDEX document_versions_lineage ON document_versions (corpus, lineage_id);
CREATE INDEX document_versions_version ON document_versions (corpus, version);

-- Passages of versions that are not the newest: which newer passage replaces them.
CREATE TABLE superseded_chunks (
    corpus text NOT NULL,
    chunk_id bigint NOT NULL,
    document_key uuid NOT NULL REFERENCES documents ON DELETE CASCADE,
    relation text NOT NULL CHECK (relation IN ('same', 'revised', 'gone')),
    by_chunk bigint,                -- the passage of the next version that has it; null when gone
    superseded_at timestamptz,      -- when that next version (gone: the one that lacks it) appeared
    last_version text,              -- gone: the last version that has it
    PRIMARY KEY (corpus, chunk_id)
);
CREATE INDEX superseded_chunks_document ON superseded_chunks (document_key);
CREATE INDEX superseded_chunks_by ON superseded_chunks (corpus, by_chunk);

-- What documents are recognised by as versions of one topic, so that no text is read twice.
CREATE TABLE document_sketches (
    document_key uuid PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
    corpus text NOT NULL,
    indexed_at timestamptz NOT NULL,
    rules int NOT NULL,
    sketch bytea NOT NULL
);
CREATE INDEX document_sketches_corpus ON document_sketches (corpus);

-- The corpora whose versions are all found; a corpus that is changed leaves this table first.
CREATE TABLE versioned_corpora (
    corpus text PRIMARY KEY,
    rules int NOT NULL,
    documents bigint NOT NULL,
    found_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- A collection's tables. Run with the collection's schema first in search_path.

-- One row: what the collection is called and which vector space its chunks live in.
CREATE TABLE collection (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    name text NOT NULL,
    model text,
    space text,
    dimensions int,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- The ledger: every document that a scan has seen, also those that gave no chunk.
-- document_key is a hash of (corpus, repo, document_id), because an identifier may be a path of any
-- length and an index entry may not.
CREATE TABLE documents (
    document_key uuid PRIMARY KEY,
    corpus text NOT NULL,
    repo text NOT NULL,
    document_id text NOT NULL,
    content_hash text,
    fingerprint text,
    state text NOT NULL CHECK (state IN ('indexed', 'empty', 'failed')),
    reason text,
    chunks int NOT NULL DEFAULT 0,
    title text,
    path text,
    uri text,
    language text,
    item_state text,
    created_at timestamptz,
    doc_date timestamptz,
    date_source text,
    version text,
    lineage_id text,
    metadata text,
    indexed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX documents_corpus_repo ON documents (corpus, repo);

-- What a search returns. The column `embedding` is added when the collection's model is known, so
-- that it has the model's dimension; a new model fills a second column and takes its place.
CREATE TABLE chunks (
    corpus text NOT NULL,
    chunk_id bigint NOT NULL,
    document_key uuid NOT NULL,
    document_id text NOT NULL,
    repo text NOT NULL,
    ordinal int NOT NULL,
    text text NOT NULL,
    title text,
    path text,
    uri text,
    anchor text,
    start_line int,
    end_line int,
    language text,
    item_state text,
    created_at timestamptz,
    doc_date timestamptz,
    date_source text,
    version text,
    lineage_id text,
    metadata text,
    -- A tsvector holds at most 1 MB: a longer text is searched by its beginning.
    search_tsv tsvector GENERATED ALWAYS AS (
        to_tsvector('english', left(coalesce(title, '') || ' ' || text, 100000))
    ) STORED,
    PRIMARY KEY (corpus, chunk_id)
) PARTITION BY LIST (corpus);
CREATE INDEX chunks_document ON chunks (document_key);
CREATE INDEX chunks_repo ON chunks (repo);
CREATE INDEX chunks_path ON chunks (left(path, 200) COLLATE "C");
CREATE INDEX chunks_created_at ON chunks (created_at);
CREATE INDEX chunks_language ON chunks (language);
CREATE INDEX chunks_item_state ON chunks (item_state);

-- The text index, beside the chunks because its weights change when a corpus's average length does,
-- and a changed row of `chunks` would be entered into the vector index again. The columns that
-- filters read are repeated here, so that a search of candidates needs no join.
CREATE TABLE postings (
    corpus text NOT NULL,
    chunk_id bigint NOT NULL,
    repo text NOT NULL,
    path text,
    language text,
    item_state text,
    created_at timestamptz,
    length int NOT NULL,
    terms int[] NOT NULL,
    counts int[] NOT NULL,
    bm25 sparsevec(1000000000) NOT NULL,
    PRIMARY KEY (corpus, chunk_id)
) PARTITION BY LIST (corpus);
CREATE INDEX postings_repo ON postings (repo);
CREATE INDEX postings_path ON postings (left(path, 200) COLLATE "C");

-- How many chunks of a corpus have a term; exact at every commit.
CREATE TABLE terms (
    corpus text NOT NULL,
    term_id int NOT NULL,
    df int NOT NULL,
    PRIMARY KEY (corpus, term_id)
) WITH (fillfactor = 70);

-- Totals of a corpus; average_length is the one that the weights in `postings` were made with.
CREATE TABLE corpora (
    corpus text PRIMARY KEY,
    chunks bigint NOT NULL,
    total_length bigint NOT NULL,
    average_length float8 NOT NULL
);

CREATE TABLE repos (
    corpus text NOT NULL,
    repo text NOT NULL,
    chunks bigint NOT NULL,
    PRIMARY KEY (corpus, repo)
);

-- Vectors by (space, hash of the embedded text), half precision: committed early, so that a killed
-- ingestion embeds nothing twice.
CREATE TABLE embedding_cache (
    space text NOT NULL,
    text_hash text NOT NULL,
    embedding bytea NOT NULL,
    PRIMARY KEY (space, text_hash)
);

-- A collection's tables. Run with the collection's schema first in search_path.

-- One row: what the collection is called and which vector space its chunks live in.
CREATE TABLE collection (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    name text NOT NULL,
    model text,
    space text,
    dimensions int,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- The model whose vectors are being made beside the current one's (in chunks.next_embedding, a
    -- column that exists only meanwhile), until it takes its place.
    next_model text,
    next_space text,
    next_dimensions int
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
    state text NOT NULL CHECK (state IN ('indexed', 'empty', 'failed', 'no_text', 'encrypted')),
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
    indexed_at timestamptz NOT NULL DEFAULT now(),
    -- A document whose newest version failed keeps the good one; content hash and fingerprint of the
    -- failed one, and why it failed.
    failed_with text,
    failed_reason text,
    -- Who may see it. Documents that allow the same principals are of one class; 0: no rule applies.
    -- A chunk and a posting repeat the class, for searches to filter by.
    access bigint NOT NULL DEFAULT 0,
    allowed_by text  -- 'source', or the number of the rule
);
CREATE INDEX documents_corpus_repo ON documents (corpus, repo);

-- What a search returns. The column `embedding` is added when the collection's model is known, so
-- that it has the model's dimension; a new model fills a second column and takes its place. A chunk is
-- searchable by words before it has a vector.
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
    embedding_error text,  -- why the model cannot embed it; no worker takes it again
    access bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (corpus, chunk_id)
) PARTITION BY LIST (corpus);
CREATE INDEX chunks_document ON chunks (document_key);
CREATE INDEX chunks_repo ON chunks (repo);
CREATE INDEX chunks_path ON chunks (left(path, 200) COLLATE "C");
CREATE INDEX chunks_created_at ON chunks (created_at);
CREATE INDEX chunks_language ON chunks (language);
CREATE INDEX chunks_item_state ON chunks (item_state);

-- The passages of changelogs, each with the version of its release: a document that has no version and
-- whose chunks have some. What belongs to a topic has a lineage_id, or a document with a version.
CREATE INDEX chunks_release ON chunks (document_key)
    WHERE version IS NOT NULL AND lineage_id IS NULL;
CREATE VIEW releases AS
    SELECT c.corpus, c.chunk_id, c.document_key, c.version,
           d.repo, d.document_id, d.path, d.language, d.item_state
    FROM chunks c JOIN documents d USING (document_key)
    WHERE c.version IS NOT NULL AND c.lineage_id IS NULL AND d.version IS NULL;

-- The text index, beside the chunks because a changed row of `chunks` would be entered into the vector
-- index again. The columns that filters read are repeated here, so that a search of candidates needs no
-- join. A term whose weight in a chunk is .5 or more is listed twice, the second time negated, so that
-- the index finds the chunks where a common term is prominent.
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
    access bigint NOT NULL DEFAULT 0,
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

-- Totals of a corpus.
CREATE TABLE corpora (
    corpus text PRIMARY KEY,
    chunks bigint NOT NULL,
    total_length bigint NOT NULL
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

-- What a live source (a forge's API) has told so far: its items as they were last seen, and how far
-- each of its listings has been read. Documents are built from the items, so that a change of one
-- comment builds its whole thread anew without asking for the rest of it again.

CREATE TABLE sync_items (
    source text NOT NULL,
    kind text NOT NULL,
    item_id bigint NOT NULL,
    number bigint NOT NULL,
    updated_at timestamptz NOT NULL,
    content_hash text NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (source, number, kind, item_id)
);
CREATE UNIQUE INDEX sync_items_id ON sync_items (source, kind, item_id);

CREATE TABLE sync_state (
    source text NOT NULL,
    name text NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (source, name)
);

-- Every ingestion, from its start: one that has no end was killed, or still runs.
CREATE TABLE runs (
    run_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source text NOT NULL,
    corpora text[] NOT NULL DEFAULT '{}',
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz,
    ok boolean,
    documents_new int,
    documents_changed int,
    documents_unchanged int,
    documents_deleted int,
    failed int,
    chunks int,
    -- The state of a source at which a run read it, the folder where that can be looked up again, and the
    -- arguments of the command that reads it again.
    revision text,
    folder text,
    command text[]
);

-- Where each document stands among the versions of its topic. A topic of one version is here if its
-- text came from or went to another one: document keys.
CREATE TABLE document_versions (
    document_key uuid PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
    corpus text NOT NULL,
    lineage_id text NOT NULL,
    version text,
    position int NOT NULL,          -- 0: the oldest
    newest boolean NOT NULL,
    released_at timestamptz,        -- trusted date of this version, or null
    indexed_at timestamptz NOT NULL, -- of the document, when its passages were compared
    split_from uuid,                -- the section of the version before that had most of its text
    ended_in uuid,                  -- a section of its file's next version, which lacks it
    moved_to uuid                   -- the section there that has most of its text
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

-- What documents are recognised by as versions of one topic: their names, and a sketch of the text of
-- those that may be versions of a topic, so that no text is read twice.
CREATE TABLE document_sketches (
    document_key uuid PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
    corpus text NOT NULL,
    indexed_at timestamptz NOT NULL,
    rules int NOT NULL,
    sketch bytea,
    path text,                      -- its path without its version or date; '' for none
    versioned boolean               -- its names or the document itself have a version or a date
);
-- The documents with a version in their names, and those at the same path without it, by index. A path
-- may be too long for an index entry, so its hash is indexed.
CREATE INDEX document_sketches_versioned ON document_sketches (corpus) WHERE versioned;
CREATE INDEX document_sketches_path ON document_sketches (corpus, hashtextextended(path, 0));

-- The corpora whose versions are all found; a corpus that is changed leaves this table first.
CREATE TABLE versioned_corpora (
    corpus text PRIMARY KEY,
    rules int NOT NULL,
    documents bigint NOT NULL,
    found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    versioned bigint                -- a stamp of the documents that may be versions
);

-- Documents that a person has said to be one topic, or two. `one` and `other` are document keys, which
-- a document keeps when it is read again; of a split, `one` is the version where the new topic begins.
CREATE TABLE version_corrections (
    corpus text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('join', 'split')),
    one uuid NOT NULL,
    other uuid NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (corpus, kind, one, other)
);

-- The principals of each class of `access`.
CREATE TABLE access_classes (
    access bigint PRIMARY KEY,
    principals text[] NOT NULL
);

-- The counts of `terms` and `repos` of each class but 0, whose own are what is left: a caller gets the
-- sums over what he sees.
CREATE TABLE access_terms (
    corpus text NOT NULL,
    access bigint NOT NULL,
    term_id int NOT NULL,
    df int NOT NULL,
    PRIMARY KEY (corpus, access, term_id)
) WITH (fillfactor = 70);
CREATE TABLE access_repos (
    corpus text NOT NULL,
    access bigint NOT NULL,
    repo text NOT NULL,
    chunks bigint NOT NULL,
    PRIMARY KEY (corpus, access, repo)
);

-- The rules by repository and path, as the file that gave them.
CREATE TABLE rights (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    rules text NOT NULL,
    unmarked boolean NOT NULL  -- whether everyone may see what nothing is said of
);

-- The model whose vectors are being made beside the current one's (in chunks.next_embedding, a column
-- that is there only meanwhile), until it takes its place.
ALTER TABLE collection
    ADD COLUMN next_model text,
    ADD COLUMN next_space text,
    ADD COLUMN next_dimensions int;

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
    chunks int
);

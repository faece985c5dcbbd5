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

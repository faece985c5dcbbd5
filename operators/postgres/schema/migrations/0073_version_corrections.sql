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

-- Who may see a document. Documents that allow the same principals are of one class; 0: nothing says who
-- may. A chunk and a posting repeat the class, for searches to filter by.
ALTER TABLE documents ADD COLUMN access bigint NOT NULL DEFAULT 0,
    ADD COLUMN allowed_by text;  -- 'source', or the number of the rule
ALTER TABLE chunks ADD COLUMN access bigint NOT NULL DEFAULT 0;
ALTER TABLE postings ADD COLUMN access bigint NOT NULL DEFAULT 0;
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

-- The documents with a version in their names, and those at the same path without it, by index. A path
-- may be too long for an index entry, so its hash is indexed.
DROP INDEX document_sketches_corpus;
CREATE INDEX document_sketches_versioned ON document_sketches (corpus) WHERE versioned;
CREATE INDEX document_sketches_path ON document_sketches (corpus, hashtextextended(path, 0));

-- Versions are found again where a document that may be one of a topic has changed, not any document.
ALTER TABLE versioned_corpora DROP COLUMN IF EXISTS documents;

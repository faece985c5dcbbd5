-- A document's row says what its names say, so that they are looked at once. Its text is sketched
-- only where it may be a version of a topic.
ALTER TABLE document_sketches
    ADD path text,                  -- its path without its version or date; '' for none
    ADD versioned boolean,          -- its names or the document itself have a version or a date
    ALTER sketch DROP NOT NULL;
-- A stamp of the documents that may be versions, when they were looked at last.
ALTER TABLE versioned_corpora ADD versioned bigint;

-- Where a topic's text was before its first version and where it went after its last one: document keys.
-- Since then a topic of one version may be here: a section that its file's next version lacks.
ALTER TABLE document_versions
    ADD split_from uuid,            -- the section of the version before that had most of its text
    ADD ended_in uuid,              -- a section of its file's next version, which lacks it
    ADD moved_to uuid;              -- the section there that has most of its text

-- A document without text (scanned) and one that asks for a password are states of their own, not
-- failures with a reason that begins like that.
ALTER TABLE documents DROP CONSTRAINT documents_state_check;
UPDATE documents SET state = split_part(reason, ': ', 1), reason = substr(reason, strpos(reason, ': ') + 2)
WHERE state = 'failed' AND split_part(reason, ': ', 1) IN ('no_text', 'encrypted');
ALTER TABLE documents ADD CONSTRAINT documents_state_check
    CHECK (state IN ('indexed', 'empty', 'failed', 'no_text', 'encrypted'));

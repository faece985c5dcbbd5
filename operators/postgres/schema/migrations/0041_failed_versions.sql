-- A document whose newest version failed keeps the good one; what was tried (content hash and
-- fingerprint), and why it failed, stand beside it.
ALTER TABLE documents ADD COLUMN failed_with text, ADD COLUMN failed_reason text;

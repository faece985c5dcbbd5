-- The folder and the arguments of the command that read a source, which reads it again.
ALTER TABLE runs ADD COLUMN command text[];

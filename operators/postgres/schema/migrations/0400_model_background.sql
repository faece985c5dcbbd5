-- A collection keeps the similarity that its model gives to unrelated texts.
ALTER TABLE collection ADD COLUMN IF NOT EXISTS background float8;

-- Weights are made with one average length of chunks, 85 tokens, so that no chunk changes another's.
UPDATE postings SET bm25 = (
    SELECT coalesce('{' || string_agg(
        term || ':' || (count / (count + 2.0 * (0.25 + 0.75 * length / 85.0::float8)))::real,
        ',' ORDER BY term
    ) || '}/1000000000', '{}/1000000000')::sparsevec
    FROM unnest(terms, counts) AS of_chunk(term, count)
);
ALTER TABLE corpora DROP COLUMN average_length;

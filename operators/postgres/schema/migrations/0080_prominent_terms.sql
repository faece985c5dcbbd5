-- A term whose weight in a chunk is .5 or more is listed twice, the second time negated, so that the
-- index finds the chunks where a common term is prominent. Its counts are kept like those of a term.
UPDATE postings SET terms = terms || (
    SELECT coalesce(array_agg(-term ORDER BY term), '{}')
    FROM unnest(terms, counts) AS of_chunk(term, count)
    WHERE count >= 2.0 * (0.25 + 0.75 * length / 85.0::float8)
);
INSERT INTO terms (corpus, term_id, df)
SELECT corpus, term, count(*)::int FROM postings, unnest(terms) AS term
WHERE term < 0 GROUP BY corpus, term;
INSERT INTO access_terms (corpus, access, term_id, df)
SELECT corpus, access, term, count(*)::int FROM postings, unnest(terms) AS term
WHERE term < 0 AND access <> 0 GROUP BY corpus, access, term;

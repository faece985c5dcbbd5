"""The chunks of the files, commits and conversations that a query names.

Keyword search returns them, but in arbitrary order: a file has many passages, and what a tool
prints beside its name (a line, the folders of another machine) occurs in none of them.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl
from pgvector import SparseVector

from operators.foundation import tokenizer
from operators.foundation.sanitize import clean_text
from operators.postgres.search.batches import fetch
from operators.postgres.search.version_filters import SearchFilter, seen
from operators.postgres.store import Connection
from operators.ranking.named_places import Place, leaders

MOST_CHUNKS = 1_000
"""Maximum number of chunks read for all places of a text; ``README.md`` alone has many."""

_READ = {
    "chunk_id": pl.Int64(),
    "score": pl.Float64(),
    **dict.fromkeys(("path", "document_id", "title"), pl.String()),
    **dict.fromkeys(("start_line", "end_line"), pl.UInt32()),
}


def named_chunks(
    conn: Connection,
    corpus: str,
    scope: SearchFilter,
    places: Sequence[Place],
    weights: SparseVector,
) -> dict[int, float]:
    """The best chunk of each of ``places`` in ``corpus``, and its BM25 score by ``weights``.

    Only chunks that pass ``scope`` count. A place matches the file whose path shares the most
    names with it, from its end.
    """
    parameters: dict[str, Any] = {"corpus": corpus, "weights": weights, "most": MOST_CHUNKS}
    named = " OR ".join(_clause(place, n, parameters) for n, place in enumerate(places))
    statement = f"""
        SELECT p.chunk_id, -(p.bm25 <#> %(weights)s::sparsevec) AS score,
               c.path, c.document_id, c.title, c.start_line, c.end_line
        FROM postings p JOIN chunks c ON c.corpus = p.corpus AND c.chunk_id = p.chunk_id
        WHERE p.corpus = %(corpus)s AND c.corpus = %(corpus)s
          AND {seen(scope, "p", parameters)} AND ({named})
        ORDER BY score DESC, p.chunk_id LIMIT %(most)s
    """
    hits = pl.DataFrame(fetch(conn, statement, parameters), schema=_READ, orient="row")
    best = [rows[0] for place in places if (rows := leaders(place, hits))]
    return dict(hits["chunk_id", "score"][best].iter_rows())


def _clause(place: Place, n: int, parameters: dict[str, Any]) -> str:
    """The condition for one place: its terms, found through an index, and the column with them."""
    parameter = f"%(name_{n})s::text"
    if place.path:
        text = name = place.path[-1]
        stands = (
            f"(p.path = {parameter} OR right(p.path, length({parameter}) + 1) = '/' || {parameter})"
        )
    elif place.commit:
        text, name = place.commit[: tokenizer.SHORT_HASH], place.commit
        stands = f"starts_with(c.document_id, {parameter})"
    elif place.key:
        text, name = place.key.rpartition("/")[2], place.key
        stands = f"starts_with(c.document_id || '/', {parameter} || '/')"
    else:
        text = name = str(place.number)
        stands = (
            f"(c.document_id ~ ('^(pull|issues|merge_requests)/' || {parameter} || '\\M')"
            f" OR c.title ~ ('#' || {parameter} || '\\M'))"
        )
    parameters[f"name_{n}"] = clean_text(name)
    terms = tokenizer.tokens(" ".join(tokenizer.words(text)))
    parameters[f"terms_{n}"] = sorted(set(map(tokenizer.term_id, terms)))
    return f"(p.terms @> %(terms_{n})s::int[] AND {stands})"

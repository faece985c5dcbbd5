"""Text search: BM25 by default, Postgres's own ranking as a variant.

BM25 on stock Postgres: an index on term arrays selects the candidates, which have one of the
query's most selective terms, or two of the next; a common term is selective where it is prominent.
An inner product of sparse vectors then scores each with all terms (see
:mod:`operators.ranking.bm25`). If the corpus or the filtered set is small, all chunks are scored
(exact). A chunk that a text names, as a file with its line, comes first (see
:mod:`operators.postgres.search.named_chunks`).
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from operators.foundation.sanitize import clean_text
from operators.frames import TEXT_LISTS, empty
from operators.postgres.schema.plain_text import words_of
from operators.postgres.search.batches import Deadline, fetch, run, run_slices
from operators.postgres.search.named_chunks import named_chunks
from operators.postgres.search.ranked_list import Hit, ranked_lists
from operators.postgres.search.version_filters import SearchFilter, seen
from operators.postgres.search.visible_chunks import search_filters, visible_counts
from operators.postgres.store import Connection, Store, collection_info
from operators.ranking import bm25
from operators.ranking.named_places import Place, named_places

CANDIDATE_CAP = 5_000
ALL_BELOW = 2
"""Up to this many times the cap, all chunks are scored: selecting half of them costs more."""

BY_TERMS = {"enable_seqscan": "off", "cpu_operator_cost": "0.1"}
"""Settings that select candidates through the index on terms. At the default operator cost, 1/1000
of that of comparing two arrays of 100 terms, the planner would scan the whole corpus."""


@dataclass(frozen=True)
class _Text:
    query_id: int
    text_no: int
    filter: SearchFilter
    text: str


_Weighed = tuple[_Text, bm25.QueryTerms]


def bm25_search(
    store: Store,
    corpus: str,
    queries: pl.DataFrame,
    *,
    k: int,
    candidate_cap: int = CANDIDATE_CAP,
    timeout_s: float | None = None,
) -> pl.DataFrame:
    """The ``k`` chunks of ``corpus`` with the highest BM25 score for each query text.

    Args:
        corpus: the corpus to search; one that the collection lacks gives no rows.
        queries: columns ``SCOPED_QUERIES``; their filters apply exactly.
        k: rows a list.
        candidate_cap: about how many chunks are scored for a query text. If the filter leaves no
            more than twice as many, or if it costs no more, all visible chunks are scored.
        timeout_s: seconds for the whole batch.

    Returns:
        Columns ``TEXT_LISTS`` and ``coverage``, ordered by query, text and rank; a list by score,
        then chunk_id. Only chunks that share a term with the query. The chunk that a text names (a
        file and its line, a commit) comes first and covers all of it. A text without terms (stop
        words only) has no rows; of over ``bm25.MAX_QUERY_TERMS`` distinct terms the rarest count.

    Raises:
        SearchTimeout: ``timeout_s`` has passed.
    """
    deadline, texts = _begin(store, corpus, queries, k, timeout_s)
    if not texts:
        return empty(TEXT_LISTS)
    counts = {text: bm25.query_counts(text) for text in {item.text for item in texts}}
    terms = sorted({term for counted in counts.values() for term in counted})
    keys = [*terms, *(-term for term in terms)]
    chunks, df = run(store, deadline, partial(_statistics, corpus=corpus, keys=keys))
    # Up to this size, scoring every visible chunk costs no more than selecting `candidate_cap`
    # candidates among all chunks.
    all_below = ALL_BELOW * candidate_cap
    limit = max(all_below, math.isqrt(candidate_cap * max(chunks, 1)))
    visible = visible_counts(store, deadline, corpus, {one.filter for one in texts}, limit=limit)
    everything, some = list[_Weighed](), list[_Weighed]()
    for item in texts:
        size = visible[item.filter]
        at_least = max(size, chunks // 2) if size == limit + 1 else size
        cap = candidate_cap * chunks / max(at_least, 1)
        query = bm25.query_terms(counts[item.text], df, chunks, cap=cap, k=k)
        if query.weights:
            (everything if size <= max(cap, all_below) else some).append((item, query))
    score = partial(_score, corpus=corpus, k=k)
    hits = run_slices(store, deadline, everything, partial(score, pick=False))
    hits += run_slices(store, deadline, some, partial(score, pick=True), BY_TERMS)
    naming = [
        (item, query, places)
        for item, query in everything + some
        if (places := named_places(item.text))
    ]
    named = run_slices(store, deadline, naming, partial(_score_named, corpus=corpus))
    ceilings = {
        (item.query_id, item.text_no): bm25.ceiling(counts[item.text], df, chunks) for item in texts
    }
    lists = ranked_lists(_named_first(hits, named, k), "score")
    covered = {row[:3] for row in named}
    of = [
        score if (query_id, text_no, chunk) in covered else ceilings[query_id, text_no]
        for query_id, text_no, chunk, _, score in lists.iter_rows()
    ]
    return lists.with_columns(coverage=pl.col("score") / pl.Series(of, dtype=pl.Float64))


def plain_search(
    store: Store, corpus: str, queries: pl.DataFrame, *, k: int, timeout_s: float | None = None
) -> pl.DataFrame:
    """The ``k`` chunks that have all words of a query text, by Postgres's own ``ts_rank``.

    The score is that rank, ``ts_rank(words, plainto_tsquery('english', text))`` with the words of
    :mod:`operators.postgres.schema.plain_text`, so that the plain rule's distance is 1 - score. A
    text without words has no rows. Arguments, order and errors as in :func:`bm25_search`.
    """
    deadline, texts = _begin(store, corpus, queries, k, timeout_s)
    work = partial(_rank_plainly, corpus=corpus, k=k)
    return ranked_lists(run_slices(store, deadline, texts, work), "score")


def _begin(
    store: Store, corpus: str, queries: pl.DataFrame, k: int, timeout_s: float | None
) -> tuple[Deadline, list[_Text]]:
    """The deadline of a search and its texts; no texts if it cannot have hits."""
    deadline = Deadline.after(timeout_s, f"the text search of corpus {corpus!r}")
    if k < 1 or not collection_info(store).repos.get(corpus):
        return deadline, []
    texts = dict(zip(queries["query_id"], queries["texts"].to_list(), strict=True))
    return deadline, [
        _Text(query_id, number, scope, text or "")
        for query_id, scope in search_filters(store, deadline, corpus, queries).items()
        for number, text in enumerate(texts[query_id] or ())
    ]


def _statistics(conn: Connection, corpus: str, keys: list[int]) -> tuple[int, dict[int, int]]:
    # one statement, so that both numbers are from one snapshot
    rows = conn.execute(
        "SELECT 0, chunks FROM corpora WHERE corpus = %(corpus)s UNION ALL"
        " SELECT term_id, df FROM terms WHERE corpus = %(corpus)s AND term_id = ANY(%(keys)s)",
        {"corpus": corpus, "keys": keys},
    ).fetchall()
    df = {int(term): int(count) for term, count in rows}
    return df.pop(0, 0), df


def _score(conn: Connection, weighed: _Weighed, *, corpus: str, k: int, pick: bool) -> list[Hit]:
    item, query = weighed
    weights = bm25.sparse(query.weights, query.weights.values())
    parameters = {"corpus": corpus, "k": k, "weights": weights}
    with_terms = ""
    if pick:
        with_terms = f" AND {_candidates(query, parameters)}"
    statement = f"""
        SELECT p.chunk_id, -(p.bm25 <#> %(weights)s::sparsevec) AS score FROM postings p
        WHERE {seen(item.filter, "p", parameters, listed=not pick)}{with_terms}
        ORDER BY score DESC, p.chunk_id LIMIT %(k)s
    """
    rows = fetch(conn, statement, parameters)
    return [(item.query_id, item.text_no, *row) for row in rows if row[1] > 0]


def _candidates(query: bm25.QueryTerms, parameters: dict[str, Any]) -> str:
    """The clause for the candidates: chunks with the selective index keys of ``query``."""
    parameters["alone"] = list(query.alone)
    clause = "p.terms && %(alone)s::int[]"
    if not query.pairs[1]:
        return clause
    parameters["first"], parameters["second"] = map(list, query.pairs)
    return f"({clause} OR (p.terms && %(first)s::int[] AND p.terms && %(second)s::int[]))"


def _score_named(
    conn: Connection, parts: tuple[_Text, bm25.QueryTerms, list[Place]], *, corpus: str
) -> list[Hit]:
    item, query, places = parts
    weights = bm25.sparse(query.weights, query.weights.values())
    scores = named_chunks(conn, corpus, item.filter, places, weights)
    return [(item.query_id, item.text_no, *row) for row in scores.items()]


def _named_first(hits: list[Hit], named: list[Hit], k: int) -> list[Hit]:
    """``hits`` with the chunks that a text names ranked above all others; ``k`` rows a text."""
    if not named:
        return hits
    rows: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
    for query_id, text_no, chunk, score in [*named, *hits]:
        rows[query_id, text_no][chunk] = score
    for query_id, text_no, chunk, _ in named:
        scores = rows[query_id, text_no]
        scores[chunk] = np.nextafter(max(scores.values()), np.inf)
    return [
        (*text, *row)
        for text, scores in rows.items()
        for row in sorted(scores.items(), key=lambda one: (-one[1], one[0]))[:k]
    ]


def _rank_plainly(conn: Connection, item: _Text, *, corpus: str, k: int) -> list[Hit]:
    words = words_of("c")
    text = clean_text(item.text[: bm25.MAX_QUERY_CHARACTERS])
    parameters = {"corpus": corpus, "k": k, "text": text}
    # a constant of thousands of words would exhaust the planner
    tsquery = "(SELECT plainto_tsquery('english', %(text)s::text))"
    statement = f"""
        SELECT c.chunk_id, ts_rank({words}, {tsquery})::float8 AS score FROM chunks c
        WHERE {seen(item.filter, "c", parameters)} AND {words} @@ {tsquery}
        ORDER BY score DESC, c.chunk_id LIMIT %(k)s
    """
    rows = fetch(conn, statement, parameters)
    return [(item.query_id, item.text_no, *row) for row in rows]

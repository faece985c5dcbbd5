"""The lists of all corpora made one list.

``rrf``: each corpus's list counts by its ranks, so that no scale needs to be shared, and every
corpus's first is worth the same. ``score``: each corpus's merged score as it is, for corpora whose
merge puts scores on one scale. ``convex``: similarity and text score anew, the latter on one scale
for all corpora, so that the best of a corpus without a good match in words is not worth the best of
one that has it.

All take ``hits``: the ``UNIFIED`` rows of all corpora and the column ``recency``, the factor of a
row's age; they return ``FUSED``. The same chunk in the lists of several corpora is one row, that of
its best rank; its scores add up in the order of the rows, and the others become alternates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from operators.arrays.alternates import with_alternates
from operators.arrays.rows import index, replaced
from operators.arrays.segments import (
    Column,
    Floats,
    Integers,
    changes,
    lengths,
    places,
)
from operators.ranking.lexical_weight import of_rows
from operators.ranking.merge import check_share, reciprocal
from operators.ranking.normalization import ratio
from operators.ranking.total_order import permutation

_FEW = 1000  # names that are compared faster one by one


def fuse_rrf(hits: pl.DataFrame, *, rrf_k: float = 60) -> pl.DataFrame:
    """The sum over the corpora of ``1 / (rrf_k + rank in the corpus)``, times ``recency``."""
    return _fused(hits, reciprocal(hits["rank"].to_numpy(), rrf_k))


def fuse_comb_sum(hits: pl.DataFrame) -> pl.DataFrame:
    """The corpora's merged scores as they are, times ``recency``."""
    return _fused(hits, hits["corpus_score"].fill_null(0.0).to_numpy())


def fuse_convex(
    hits: pl.DataFrame,
    vector_weights: Mapping[str, float],
    lexical_weight: pl.DataFrame | None = None,
    *,
    corpus_normalization: float = 0.5,
    missing_score_fraction: float = 0.0,
    depths: Mapping[str, int] | None = None,
    alone: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """A convex combination of similarity and text score, each on one scale.

    ``w * near * similarity / best of corpus + (1 - w) * confidence * text score / best of all``;
    all bests are the query's. BM25 scores of all corpora are comparable, as sums of the weights of
    the same words. Similarities are less so: a model puts code and prose at different distances
    from a question. Yet the corpus that has the nearest passage is more likely to be the right one:
    ``near = (best of corpus / best of all) ** (1 - corpus_normalization)``.

    What a list lacks counts there ``missing_score_fraction`` of the list's last: it may be no worse
    than what came just within the cut. A list that ends before the cut lacks only what does not
    match, so that the share goes down with its length.

    A corpus of which only one channel was searched, or answered, counts by that one alone; else all
    its hits would lose to those of corpora that have both. A hit that neither list has, as a caller
    may give one, counts its merged score.

    Args:
        hits: as above.
        vector_weights: ``w`` of each corpus, 0 to 1.
        lexical_weight: columns ``LEXICAL_WEIGHT``, a factor of each query's text scores; None: 1.
        corpus_normalization: 1 scales the similarities of each corpus by itself, 0 those of all
            together.
        missing_score_fraction: 0 to 1.
        depths: after how many hits the lists of each corpus were cut; None: all were cut.
        alone: the one channel, ``vector`` or ``text``, of each corpus that has no other.
    """
    made = combination(
        hits,
        vector_weights,
        lexical_weight,
        corpus_normalization=corpus_normalization,
        missing_score_fraction=missing_score_fraction,
        depths=depths,
        alone=alone,
    )
    listed = hits["vector_distance"].is_not_null() | hits["text_score"].is_not_null()
    if listed.all():
        return _fused(hits, made.score)
    merged = hits["corpus_score"].fill_null(0.0).to_numpy()
    return _fused(hits, np.where(listed.to_numpy(), made.score, merged))


@dataclass(frozen=True)
class Combination:
    """What the score of each hit is made of, as :func:`fuse_convex` says."""

    vector_weight: Floats
    vector_value: Floats
    text_weight: Floats
    text_value: Floats
    lexical_weight: Floats

    @property
    def score(self) -> Floats:
        """The convex combination, without recency."""
        text = self.text_weight * self.text_value * self.lexical_weight
        return self.vector_weight * self.vector_value + text


def combination(
    hits: pl.DataFrame,
    vector_weights: Mapping[str, float],
    lexical_weight: pl.DataFrame | None = None,
    *,
    corpus_normalization: float = 0.5,
    missing_score_fraction: float = 0.0,
    depths: Mapping[str, int] | None = None,
    alone: Mapping[str, str] | None = None,
) -> Combination:
    """The parts of the scores that :func:`fuse_convex` gives ``hits``; arguments as there."""
    query_id, corpus = hits["query_id"].to_numpy(), hits["corpus"]
    similarity = 1 - hits["vector_distance"].to_numpy()
    text_score = hits["text_score"].to_numpy().astype(np.float64, copy=False)
    # rows of one query and corpus stand together: what they share is worked out for such a piece
    begins = np.flatnonzero(changes(query_id) | _changes(corpus))
    sizes = lengths(begins, len(hits))
    query, part = query_id[begins], _numbers(corpus[index(begins)], vector_weights)
    if missing_score_fraction:
        cut = np.array([(depths or {}).get(name, 1) for name in vector_weights], np.float64)[part]
        pieces = begins, cut, query, part
        vector_last = missing_score_fraction * _last(similarity, hits["vector_rank"], *pieces)
        text_last = missing_score_fraction * _last(text_score, hits["text_rank"], *pieces)
        similarity = np.where(np.isnan(similarity), np.repeat(vector_last, sizes), similarity)
        text_score = np.where(np.isnan(text_score), np.repeat(text_last, sizes), text_score)
    nearest = np.fmax.reduceat(similarity, begins)
    own, every = _extreme(nearest, query, part), _extreme(nearest, query)
    near = np.divide(own, every, out=np.zeros_like(own), where=every > 0) ** (
        1 - corpus_normalization
    )
    words = _extreme(np.fmax.reduceat(text_score, begins), query)
    share = np.array([check_share(weight) for weight in vector_weights.values()])[part]
    confidence = of_rows(lexical_weight, query)
    for corpus_number, name in enumerate(vector_weights):
        if channel := (alone or {}).get(name):
            share[part == corpus_number] = 1.0 if channel == "vector" else 0.0
            confidence[part == corpus_number] = 1.0
    return Combination(
        np.repeat(share, sizes),
        ratio(similarity, np.repeat(own, sizes)) * np.repeat(near, sizes),
        np.repeat(1 - share, sizes),
        ratio(text_score, np.repeat(words, sizes)),
        np.repeat(confidence, sizes),
    )


def _changes(corpus: pl.Series) -> Column:
    if len(corpus) <= _FEW:
        return changes(np.array(corpus.to_list(), object))
    found = np.ones(len(corpus), bool)
    found[1:] = (corpus[1:] != corpus[:-1]).to_numpy()
    return found


def _numbers(corpus: pl.Series, weights: Mapping[str, float]) -> Integers:
    number = {name: place for place, name in enumerate(weights)}
    return np.array([number[name] for name in corpus.to_list()], np.int64)


def _last(
    values: Floats, rank: pl.Series, begins: Integers, cut: Floats, *groups: Column
) -> Floats:
    """What the last hit of each piece's list has, less where the list is shorter than the cut."""
    deepest = np.fmax.reduceat(rank.to_numpy().astype(np.float64), begins)
    full = np.minimum((1 + _extreme(deepest, *groups)) / cut, 1.0)
    return full * _extreme(np.fmin.reduceat(values, begins), *groups, extreme=np.fmin)


def _extreme(values: Floats, *groups: Column, extreme: np.ufunc = np.fmax) -> Floats:
    """The ``extreme`` of the values of each one's group; 0 if that is lower or there is none."""
    order = np.lexsort(groups)
    begins = np.flatnonzero(np.any([changes(group[order]) for group in groups], axis=0))
    found = np.empty_like(values)
    reached = extreme.reduceat(values[order], begins)
    found[order] = np.repeat(reached, lengths(begins, len(values)))
    return np.fmax(found, 0.0)


class _Hits(NamedTuple):
    """What the fusion reads of the hits; an absent rank is NaN."""

    query_id: Column
    chunk_id: Integers
    rank: Column
    vector_rank: Column
    text_rank: Column
    recency: Floats
    score: Floats


class FusedRows(NamedTuple):
    """The fused lists of queries, as row numbers of the hits."""

    rows: Integers  # by query and rank
    score: Floats
    copies: Integers  # the other rows of their chunks, by survivor
    survivor: Integers  # of each copy the place in ``rows``


def fused_rows(hits: pl.DataFrame, score: Floats) -> FusedRows:
    """Which rows of ``hits`` the fused lists have, in their order, and which are copies of those.

    Args:
        hits: as above; of its columns only the ids, the ranks and ``recency`` are read.
        score: what each row adds to its chunk.
    """
    read = {name: hits[name].to_numpy() for name in _Hits._fields if name != "score"}
    arrays = _Hits(score=score, **read)
    return _fuse(arrays)


def _fused(hits: pl.DataFrame, score: Floats) -> pl.DataFrame:
    fused = fused_rows(hits, score)
    columns = hits[[name for name in hits.columns if name != "recency"]]
    chosen = with_alternates(columns, fused.rows, fused.copies, fused.survivor)
    rank = pl.Series("rank", places(chosen["query_id"].to_numpy()))
    return replaced(chosen, rank, pl.Series("score", fused.score))


def _fuse(hits: _Hits) -> FusedRows:
    rows = np.lexsort((hits.chunk_id, hits.query_id))
    begins = np.flatnonzero(changes(hits.query_id[rows]) | changes(hits.chunk_id[rows]))
    first, score = begins, hits.score[rows]
    if len(begins) < len(rows):
        first, score = _summed(score, hits.rank[rows], begins)
    kept = rows[first]
    score = score * hits.recency[kept]
    ranks = hits.vector_rank[kept], hits.text_rank[kept]
    best = permutation(hits.query_id[kept], score, *ranks, hits.chunk_id[kept])
    copies, survivor = _copies(begins, first, best, len(rows))
    return FusedRows(kept[best], score[best], rows[copies], survivor)


def _summed(score: Floats, rank: Column, begins: Integers) -> tuple[Integers, Floats]:
    """Of each chunk the row with the best rank, and the sum of its scores, row after row.

    Args:
        score: by chunk.
        rank: likewise.
        begins: where the rows of each chunk begin.
    """
    sizes = lengths(begins, len(score))
    first, total = begins.copy(), score[begins]
    more = np.flatnonzero(sizes > 1)
    number = 1
    while len(more):  # the second row of all chunks, the third, ...
        row = begins[more] + number
        total[more] += score[row]
        first[more] = np.where(rank[row] < rank[first[more]], row, first[more])
        number += 1
        more = more[sizes[more] > number]
    return first, total


def _copies(
    begins: Integers, first: Integers, best: Integers, rows: int
) -> tuple[Integers, Integers]:
    """The rows that are not the first of their chunk, by the chunk's place in ``best``."""
    if len(begins) == rows:
        return begins[:0], begins[:0]
    place = np.empty_like(best)
    place[best] = np.arange(len(best))
    stays = np.zeros(rows, bool)
    stays[first] = True
    gone = np.flatnonzero(~stays)
    survivor = np.repeat(place, lengths(begins, rows) - 1)
    order = np.argsort(survivor, kind="stable")
    return gone[order], survivor[order]

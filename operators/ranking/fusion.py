"""The lists of all corpora made one list.

``rrf`` adds reciprocal ranks: the corpora need no common scale, and the first hit of every corpus
is worth the same. ``comb_sum`` adds the merged scores as they are, for corpora whose merge puts
scores on one scale. ``convex`` scales similarities and text scores again, the latter on one scale
for all corpora: the best hit of a corpus without a good match in words is worth less than that of a
corpus with one.

Each returns ``FUSED``, ``part`` and ``other_parts``, which make the score. The same chunk in the
lists of several corpora is one row, that of its best rank; its scores add up in the order of the
rows, and the other rows become alternates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from operators.arrays.alternates import with_alternates
from operators.arrays.lists import lists
from operators.arrays.rows import index, replaced
from operators.arrays.segments import (
    Column,
    Floats,
    Integers,
    changes,
    inverse,
    lengths,
    places,
    starts,
)
from operators.frames import SCORE_FACTORS, frame_of
from operators.ranking.lexical_weight import of_rows
from operators.ranking.merge import check_share, reciprocal
from operators.ranking.normalization import ratio
from operators.ranking.total_order import permutation


def fuse_rrf(hits: pl.DataFrame, *, rrf_k: float = 60) -> pl.DataFrame:
    """The sum over the corpora of ``1 / (rrf_k + rank in the corpus)``, times ``recency``.

    Args:
        hits: the ``UNIFIED`` rows of all corpora and ``recency``, the factor of a row's age.
        rrf_k: above 0; the larger, the less the first ranks stand out.

    >>> from operators.frames import UNIFIED
    >>> rows = [(1, "code", 0), (2, "code", 1), (2, "wiki", 0)]
    >>> each = {"query_id": 0, "alternate_sources": []}
    >>> hits = [{**each, "chunk_id": n, "corpus": c, "rank": r} for n, c, r in rows]
    >>> hits = pl.DataFrame(hits, schema=UNIFIED).with_columns(recency=1.0)
    >>> fuse_rrf(hits, rrf_k=1)["chunk_id", "corpus", "score"].rows()
    [(2, 'wiki', 1.5), (1, 'code', 1.0)]
    """
    return _fused(hits, reciprocal(hits["rank"].to_numpy(), rrf_k))


def fuse_comb_sum(hits: pl.DataFrame) -> pl.DataFrame:
    """The merged scores of ``hits`` (as for :func:`fuse_rrf`) as they are, times ``recency``.

    >>> from operators.frames import UNIFIED
    >>> rows = [(1, "code", 0.5), (2, "code", 0.25), (2, "wiki", 0.5)]
    >>> each = {"query_id": 0, "rank": 0, "alternate_sources": []}
    >>> hits = [{**each, "chunk_id": n, "corpus": c, "corpus_score": s} for n, c, s in rows]
    >>> hits = pl.DataFrame(hits, schema=UNIFIED).with_columns(recency=1.0)
    >>> fuse_comb_sum(hits)["chunk_id", "score"].rows()
    [(2, 0.75), (1, 0.5)]
    """
    return _fused(hits, hits["corpus_score"].fill_null(0.0).to_numpy())


@dataclass(frozen=True)
class CorpusSearch:
    """How the hits of one corpus were found: that decides which of their scores count.

    Attributes:
        vector_weight: the share of the similarities, 0 to 1; the text scores have the rest.
        depth: the number of hits after which its lists were cut; 1 stands for any.
        channel: ``vector`` or ``text`` if no other was searched, or answered; None: both were.
        space: its vector space; only similarities of one space are compared.
        unembedded: ``UNEMBEDDED``, its chunks that have no vector yet.
    """

    vector_weight: float = 0.5
    depth: int = 1
    channel: str | None = None
    space: str | None = None
    unembedded: pl.DataFrame | None = None


def combination(
    hits: pl.DataFrame,
    corpora: Mapping[str, CorpusSearch],
    lexical_weight: pl.DataFrame | None = None,
    *,
    corpus_normalization: float = 0.5,
    missing_score_fraction: float = 0.0,
) -> pl.DataFrame:
    """``SCORE_FACTORS`` of each hit: a convex combination of similarity and text score.

    ``w * near * similarity / best of corpus + (1 - w) * words * text score / best of all``; all
    bests are the query's, and ``words`` is its lexical weight. BM25 scores of all corpora are
    comparable, as sums of the weights of the same words. Similarities are less so: a model puts
    code and prose at different distances from a question. Yet the corpus that has the nearest
    passage is more likely to be the right one:
    ``near = (best of corpus / best of all) ** (1 - corpus_normalization)``.

    A hit that a list lacks counts there ``missing_score_fraction`` of the list's last hit: it may
    be no worse than what came just within the cut. A list that ends before the cut lacks only what
    does not match, so that the fraction goes down with its length.

    A chunk that has no vector yet is taken to be as near as its words are good: its
    ``word_similarity * text score / best of all`` stands for its similarity, so that it neither
    loses to its neighbours for lacking a vector nor beats them.

    A corpus of one channel counts by that one alone; else all its hits would lose to those of
    corpora that have both.

    Args:
        hits: as for :func:`fuse_rrf`.
        corpora: each corpus that ``hits`` name; ``w`` is its ``vector_weight``.
        lexical_weight: columns ``LEXICAL_WEIGHT``, a factor of each query's text scores; None: 1.
        corpus_normalization: 1 scales the similarities of each corpus by itself, 0 those of all
            together.
        missing_score_fraction: 0 to 1.
    """
    number, searches = {name: place for place, name in enumerate(corpora)}, list(corpora.values())
    query_id = hits["query_id"].to_numpy()
    corpus = np.array([number[name] for name in hits["corpus"].to_list()], np.int64)
    similarity = 1 - hits["vector_distance"].to_numpy()
    text_score = hits["text_score"].to_numpy().astype(np.float64, copy=False)
    # the rows of one query and corpus stand together, as a piece; what they share is one number
    begins = starts(query_id, corpus)
    sizes = lengths(begins, len(hits))
    query_id, corpus = query_id[begins], corpus[begins]
    if missing_score_fraction:
        cut = np.array([one.depth for one in searches], np.float64)
        pieces = begins, cut[corpus], query_id, corpus
        vector_last = missing_score_fraction * _last(similarity, hits["vector_rank"], *pieces)
        text_last = missing_score_fraction * _last(text_score, hits["text_rank"], *pieces)
        similarity = np.where(np.isnan(similarity), np.repeat(vector_last, sizes), similarity)
        text_score = np.where(np.isnan(text_score), np.repeat(text_last, sizes), text_score)

    nearest = np.fmax.reduceat(similarity, begins)
    spaces = [one.space for one in searches]
    space = np.array([spaces.index(one) for one in spaces], np.int64)[corpus]
    best_of_corpus, best = _extreme(nearest, query_id, corpus), _extreme(nearest, query_id, space)
    near = np.divide(best_of_corpus, best, out=np.zeros_like(best), where=best > 0)
    near **= 1 - corpus_normalization
    best_text = _extreme(np.fmax.reduceat(text_score, begins), query_id)

    weights = _channel_weights(searches, corpus, of_rows(lexical_weight, query_id))
    vector_weight, words = (np.repeat(weight, sizes) for weight in weights)
    vector = ratio(similarity, np.repeat(best_of_corpus, sizes)) * np.repeat(near, sizes)
    text = ratio(text_score, np.repeat(best_text, sizes))
    lacking = [one.unembedded for one in searches if one.unembedded is not None]
    if any(map(len, lacking)):
        known = pl.concat(lacking).unique("chunk_id", maintain_order=True)
        waits = hits.select("chunk_id").join(known, "chunk_id", "left", maintain_order="left")
        similarity_by_words = waits["word_similarity"].to_numpy() * text
        vector = np.where(np.isnan(similarity_by_words), vector, similarity_by_words)
    made = (vector_weight, vector, 1 - vector_weight, text, words)
    return frame_of(pl.Series(name, one) for name, one in zip(SCORE_FACTORS, made, strict=True))


def _channel_weights(
    searches: Sequence[CorpusSearch], corpus: Integers, words: Floats
) -> tuple[Floats, Floats]:
    """``w`` and the lexical weight of each piece; one channel alone has all or nothing."""
    vector_weight = np.array([check_share(one.vector_weight) for one in searches])[corpus]
    for number, one in enumerate(searches):
        if one.channel:
            vector_weight[corpus == number] = 1.0 if one.channel == "vector" else 0.0
            words[corpus == number] = 1.0
    return vector_weight, words


def fuse_convex(hits: pl.DataFrame, factors: pl.DataFrame) -> pl.DataFrame:
    """The convex combination of the ``factors`` of :func:`combination`, times ``recency``.

    A hit that neither list has (a caller may give one) counts its merged score.

    Args:
        hits: as for :func:`fuse_rrf`.
        factors: ``SCORE_FACTORS`` of each hit.

    >>> from operators.frames import UNIFIED
    >>> rows = [(1, "code", 0.5), (2, "wiki", 0.25)]
    >>> hits = [{"chunk_id": n, "corpus": c, "vector_distance": d} for n, c, d in rows]
    >>> hits = pl.DataFrame(hits, schema=UNIFIED).with_columns(query_id=0, rank=0, recency=1.0)
    >>> corpora = dict.fromkeys(["code", "wiki"], CorpusSearch(channel="vector"))
    >>> factors = combination(hits, corpora, corpus_normalization=0)
    >>> fuse_convex(hits, factors)["corpus", "score"].rows()
    [('wiki', 1.0), ('code', 0.6666666666666666)]
    """
    vector_weight, vector, text_weight, text, words = (
        factors[name].to_numpy() for name in SCORE_FACTORS
    )
    score = vector_weight * vector + text_weight * text * words
    listed = hits["vector_distance"].is_not_null() | hits["text_score"].is_not_null()
    if not listed.all():
        merged = hits["corpus_score"].fill_null(0.0).to_numpy()
        score = np.where(listed.to_numpy(), score, merged)
        factors = factors.select(pl.when(listed).then(pl.all()))
    return _fused(hits, score, factors)


def _last(
    values: Floats, rank: pl.Series, begins: Integers, cut: Floats, *groups: Column
) -> Floats:
    """The value of the last hit of each piece's list; less if the list ends before the cut."""
    deepest = np.fmax.reduceat(rank.to_numpy().astype(np.float64), begins)
    full = np.minimum((1 + _extreme(deepest, *groups)) / cut, 1.0)
    return full * _extreme(np.fmin.reduceat(values, begins), *groups, extreme=np.fmin)


def _extreme(values: Floats, *groups: Column, extreme: np.ufunc = np.fmax) -> Floats:
    """The ``extreme`` value of each one's group; 0 if that is below 0 or missing."""
    order = np.lexsort(groups)
    begins = starts(*(group[order] for group in groups))
    reached = np.fmax(extreme.reduceat(values[order], begins), 0.0)
    return np.repeat(reached, lengths(begins, len(values)))[inverse(order)]


class FusedRows(NamedTuple):
    """The fused lists of queries, as row numbers of the hits."""

    rows: Integers  # by query and rank
    score: Floats  # of each of ``rows``
    others: Integers  # the other rows of the same chunks, by owner
    owner: Integers  # of each other row the place of its chunk in ``rows``


def fused_rows(hits: pl.DataFrame, score: Floats) -> FusedRows:
    """The rows of ``hits`` that the fused lists have, in their order, and the rows they stand for.

    ``score`` is what each row adds to its chunk; of ``hits`` only ids, ranks and ``recency`` are
    read.
    """
    names = ("query_id", "chunk_id", "rank", "vector_rank", "text_rank", "recency")
    query_id, chunk_id, rank, vector_rank, text_rank, recency = (
        hits[name].to_numpy() for name in names
    )
    by_chunk = np.lexsort((rank, chunk_id, query_id))
    first = changes(query_id[by_chunk], chunk_id[by_chunk])
    best = by_chunk[first]  # of each chunk the row of its best rank, the first of them
    chunk = (np.cumsum(first) - 1)[inverse(by_chunk)]  # of each row the number of its chunk
    # bincount adds in the order of the rows
    total = np.bincount(chunk, score, len(best)) * recency[best]
    order = permutation(query_id[best], total, vector_rank[best], text_rank[best], chunk_id[best])

    others = np.sort(by_chunk[~first])
    owner = inverse(order)[chunk[others]]
    by_owner = np.argsort(owner, kind="stable")
    return FusedRows(best[order], total[order], others[by_owner], owner[by_owner])


def _fused(hits: pl.DataFrame, score: Floats, factors: pl.DataFrame | None = None) -> pl.DataFrame:
    fused = fused_rows(hits, score)
    columns = hits[[name for name in hits.columns if name != "recency"]]
    chosen = with_alternates(columns, fused.rows, fused.others, fused.owner)
    rank = pl.Series("rank", places(chosen["query_id"].to_numpy()))
    if factors is None:
        unknown = pl.Series(dtype=pl.Float64).extend_constant(None, len(hits))
        factors = frame_of(unknown.alias(name) for name in SCORE_FACTORS)
    made = [hits["corpus"], hits["rank"].alias("corpus_rank"), *factors, pl.Series("part", score)]
    parts = frame_of([*made, hits["recency"]]).to_struct("part")
    others = lists(parts[index(fused.others)].alias("other_parts"), fused.owner, len(fused.rows))
    return replaced(chosen, rank, pl.Series("score", fused.score), parts[index(fused.rows)], others)

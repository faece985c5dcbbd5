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

import numpy as np
import polars as pl

from operators.dedup.survivors import absorb
from operators.ranking.merge import check_share, reciprocal
from operators.ranking.normalise import best, last, max_ratio
from operators.ranking.order import Floats, Integers, ranked, starts
from operators.ranking.wording import of_rows

_MANY = 10_000  # rows that are worth a column of another type


def fuse_rrf(hits: pl.DataFrame, *, rrf_k: float = 60) -> pl.DataFrame:
    """The sum over the corpora of ``1 / (rrf_k + rank in the corpus)``, times ``recency``."""
    return _fused(hits, reciprocal(hits["rank"].to_numpy(), rrf_k))


def fuse_score(hits: pl.DataFrame) -> pl.DataFrame:
    """The corpora's merged scores as they are, times ``recency``."""
    return _fused(hits, hits["rrf_score"].fill_null(0.0).to_numpy())


def fuse_convex(
    hits: pl.DataFrame,
    vector_weights: Mapping[str, float],
    text_confidence: pl.DataFrame | None = None,
    *,
    own_scale: float = 0.5,
    absent_share: float = 0.0,
    depths: Mapping[str, int] | None = None,
) -> pl.DataFrame:
    """A convex combination of similarity and text score, each on one scale.

    ``w * near * similarity / best of corpus + (1 - w) * confidence * text score / best of all``;
    all bests are the query's. BM25 scores of all corpora are comparable, as sums of the weights of
    the same words. Similarities are less so: a model puts code and prose at different distances
    from a question. Yet the corpus that has the nearest passage is more likely to be the right one:
    ``near = (best of corpus / best of all) ** (1 - own_scale)``.

    What a list lacks counts there ``absent_share`` of the list's last: it may be no worse than what
    came just within the cut. A list that ends before the cut lacks only what does not match, so
    that the share goes down with its length.

    Args:
        hits: as above.
        vector_weights: ``w`` of each corpus, 0 to 1.
        text_confidence: columns ``TEXT_CONFIDENCE``, a factor of each query's text scores; None: 1.
        own_scale: 1 scales the similarities of each corpus by itself, 0 those of all together.
        absent_share: 0 to 1.
        depths: after how many hits the lists of each corpus were cut; None: all were cut.
    """
    made = combination(
        hits,
        vector_weights,
        text_confidence,
        own_scale=own_scale,
        absent_share=absent_share,
        depths=depths,
    )
    return _fused(hits, made.score)


@dataclass(frozen=True)
class Combination:
    """What the score of each hit is made of, as :func:`fuse_convex` says."""

    vector_weight: Floats
    vector_value: Floats
    text_weight: Floats
    text_value: Floats
    text_confidence: Floats

    @property
    def score(self) -> Floats:
        """The convex combination, without recency."""
        text = self.text_weight * self.text_value * self.text_confidence
        return self.vector_weight * self.vector_value + text


def combination(
    hits: pl.DataFrame,
    vector_weights: Mapping[str, float],
    text_confidence: pl.DataFrame | None = None,
    *,
    own_scale: float = 0.5,
    absent_share: float = 0.0,
    depths: Mapping[str, int] | None = None,
) -> Combination:
    """The parts of the scores that :func:`fuse_convex` gives ``hits``; arguments as there."""
    query_id = hits["query_id"].to_numpy()
    similarity = 1 - hits["vector_distance"].to_numpy()
    text_score = hits["text_score"].to_numpy().astype(np.float64)
    share, part = _by_corpus(hits["corpus"], vector_weights)
    one_list = query_id.astype(np.int64) * len(vector_weights) + part  # a query and a corpus
    by_list = np.argsort(one_list, kind="stable")
    by_query = np.argsort(query_id, kind="stable")
    begins = starts(query_id[by_query])
    vector, own, every, text = (np.empty(len(hits)) for _ in range(4))
    edges = starts(one_list[by_list])
    if absent_share:
        cuts = np.array([(depths or {}).get(name, 1) for name in vector_weights], np.float64)
        for values, rank in ((similarity, "vector_rank"), (text_score, "text_rank")):
            in_list = values[by_list]
            length = 1 + best(hits[rank].to_numpy()[by_list].astype(np.float64), edges)
            absent = np.minimum(1.0, length / cuts[part][by_list]) * last(in_list, edges)
            values[by_list] = np.where(np.isnan(in_list), absent_share * absent, in_list)
    vector[by_list] = max_ratio(similarity[by_list], edges)
    own[by_list] = best(similarity[by_list], edges)
    every[by_query] = best(similarity[by_query], begins)
    text[by_query] = max_ratio(text_score[by_query], begins)
    near = np.divide(own, every, out=np.zeros_like(own), where=every > 0)
    vector *= near ** (1 - own_scale)
    confidence = of_rows(text_confidence, query_id)
    return Combination(share, vector, 1 - share, text, confidence)


def _by_corpus(corpus: pl.Series, weights: Mapping[str, float]) -> tuple[Floats, Integers]:
    """Each row's weight, and a number for its corpus."""
    if len(corpus) > _MANY:
        number = corpus.cast(pl.Enum(list(weights))).to_physical().to_numpy().astype(np.int64)
    else:
        numbers = {name: number for number, name in enumerate(weights)}
        number = np.array([numbers[name] for name in corpus.to_list()], np.int64)
    return np.array([check_share(weight) for weight in weights.values()])[number], number


def _fused(hits: pl.DataFrame, score: Floats) -> pl.DataFrame:
    same = _same_chunk(hits)
    if same is not None:
        sums = np.bincount(same, score, minlength=len(score))
        score = np.where(same == np.arange(len(score)), sums, 0.0)
    score = score * hits["recency"].to_numpy()
    columns = [name for name in hits.columns if name != "recency"]
    if same is None:
        return ranked(hits[columns], score)
    survivors = absorb(hits[columns].hstack([pl.Series("score", score)]), same)
    return ranked(survivors, survivors["score"].to_numpy())


def _same_chunk(hits: pl.DataFrame) -> Integers | None:
    """For each row the row that stands for its query and chunk; None where all are distinct."""
    query_id, chunk_id = hits["query_id"].to_numpy(), hits["chunk_id"].to_numpy()
    key = np.sort(chunk_id.astype(np.uint64) ^ (query_id.astype(np.uint64) << np.uint64(32)))
    if (key[1:] != key[:-1]).all():
        return None
    order = np.lexsort((hits["rank"].to_numpy(), chunk_id, query_id))
    another = np.ones(len(order), bool)
    another[1:] = (query_id[order][1:] != query_id[order][:-1]) | (
        chunk_id[order][1:] != chunk_id[order][:-1]
    )
    stands = np.empty(len(order), np.int64)
    stands[order] = order[another][np.cumsum(another) - 1]
    return stands

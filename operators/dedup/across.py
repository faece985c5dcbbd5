"""Near-duplicates across corpora, after fusion: the best-ranked stays, from whatever corpus.

Documents of one change (:mod:`operators.dedup.changes`) are joined first. Every rule takes ``hits``
(``FUSED``) and returns ``FUSED``, ranked again. A hit that stays has the labels and links of
the hits that it represents (:func:`operators.dedup.representatives.absorb`).
"""

import numpy as np
import polars as pl

from operators.arrays.rows import by_rank, replaced
from operators.arrays.segments import Column, Floats, Integers, places, positions
from operators.dedup.changes import change_representatives
from operators.dedup.cosine import cosine_representatives, unit_vectors
from operators.dedup.guarded import guarded_representatives
from operators.dedup.jaccard import jaccard_representatives
from operators.dedup.newest import documents, newest_representatives
from operators.dedup.representatives import absorb
from operators.dedup.similarity_index import SimilarityIndex, index_similarity, joined
from operators.dedup.twins import twin_representatives


def jaccard(
    hits: pl.DataFrame, known: SimilarityIndex | None = None, *, threshold: float = 0.9
) -> pl.DataFrame:
    """``hits`` without those whose Jaccard index with a better one reaches ``threshold``.

    ``known`` is the similarity index of chunks; other texts are hashed here.
    """
    hits, query_id = _one_place_a_change(hits)
    index, number = entries(hits, known)
    same = jaccard_representatives(query_id, number, index.tokens, threshold=threshold)
    return _unique(hits, same)


def cosine(hits: pl.DataFrame, chunks: pl.DataFrame, *, threshold: float = 0.95) -> pl.DataFrame:
    """``hits`` without those with a cosine >= ``threshold`` to a better one in another document.

    ``chunks`` (``CHUNKS``) has the hits' embeddings.
    """
    hits, query_id = _one_place_a_change(hits)
    vectors, number = _vectors(hits, chunks)
    of = documents(hits)
    return _unique(hits, cosine_representatives(query_id, number, vectors, of, threshold=threshold))


def guarded(
    hits: pl.DataFrame,
    known: SimilarityIndex | None = None,
    *,
    jaccard_threshold: float = 0.9,
    cosine_threshold: float = 0.95,
    twins: bool = True,
) -> pl.DataFrame:
    """``hits`` without near-duplicates of better ones, by :mod:`operators.dedup.guarded`.

    ``known`` is the similarity index of chunks; of other hits only the texts are compared.
    With ``twins`` also without the worse form of code that is sync and async
    (:mod:`operators.dedup.twins`), from ``jaccard_threshold`` on.
    """
    hits, query_id = _one_place_a_change(hits)
    index, number = entries(hits, known)
    thresholds = (jaccard_threshold, cosine_threshold)
    kept = _unique(hits, guarded_representatives(query_id, number, index, *thresholds))
    return _unique(kept, twin_representatives(kept, jaccard_threshold)) if twins else kept


def newest(hits: pl.DataFrame, chunks: pl.DataFrame, *, threshold: float = 0.95) -> pl.DataFrame:
    """``hits`` without near-duplicates of later documents, by :mod:`operators.dedup.newest`.

    The others keep their ranks. The rule may come before reranking or after it, because it does
    not depend on ranks.
    """
    hits, query_id = _one_place_a_change(hits)
    vectors, number = _vectors(hits, chunks)
    representative = newest_representatives(hits, query_id, number, vectors, threshold=threshold)
    return _unique(hits, representative)


def entries(hits: pl.DataFrame, known: SimilarityIndex | None) -> tuple[SimilarityIndex, Integers]:
    """The index of all of ``hits``, and the number of each row's own entry in it.

    What ``known`` lacks is made from rows of ``hits``, each chunk once.
    """
    wanted = hits["chunk_id"].to_numpy()
    known = index_similarity(hits.clear()) if known is None else known
    number = positions(known.chunk_id, wanted)
    missing = np.flatnonzero(number < 0)
    if not len(missing):
        return known, number
    fresh = index_similarity(hits[missing[np.unique(wanted[missing], return_index=True)[1]]])
    number[missing] = len(known.chunk_id) + positions(fresh.chunk_id, wanted[missing])
    return joined(known, fresh), number


def _one_place_a_change(hits: pl.DataFrame) -> tuple[pl.DataFrame, Column]:
    hits = by_rank(hits)
    hits = _unique(hits, change_representatives(hits))
    return hits, hits["query_id"].to_numpy()


def _unique(hits: pl.DataFrame, representative: Integers) -> pl.DataFrame:
    kept = absorb(hits, representative)
    if kept.height == hits.height:
        return kept
    return replaced(kept, pl.Series("rank", places(kept["query_id"].to_numpy())))


def _vectors(hits: pl.DataFrame, chunks: pl.DataFrame) -> tuple[Floats, Integers]:
    """The unit vectors of ``chunks``, then zeros; and each hit's row, -1 if it has none."""
    number = positions(chunks["chunk_id"].to_numpy(), hits["chunk_id"].to_numpy())
    return np.pad(unit_vectors(chunks["embedding"]), ((0, 1), (0, 0))), number

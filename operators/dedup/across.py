"""Near-duplicates across corpora, after fusion: the best-ranked stays, from whatever corpus.

Documents of one change (:mod:`operators.dedup.changes`) are joined first. Every rule takes ``hits``
(``FUSED``) and returns ``FUSED``, ranked again. A hit that stays has the labels and links of
the hits that it represents (:func:`operators.dedup.representatives.absorb`).
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import polars as pl

from operators.arrays.rows import by_rank, index, replaced
from operators.arrays.segments import Column, Floats, Integers, places, positions
from operators.dedup.changes import change_representatives
from operators.dedup.cosine import cosine_representatives, unit_vectors
from operators.dedup.guarded import guarded_representatives
from operators.dedup.jaccard import jaccard_representatives
from operators.dedup.newest import documents, newest_representatives
from operators.dedup.representatives import absorb
from operators.dedup.similarity_index import SimilarityIndex, index_similarity, joined
from operators.dedup.token_index import TokenIndex, index_tokens
from operators.dedup.twins import twin_representatives

T = TypeVar("T", bound=TokenIndex | SimilarityIndex)


def jaccard(
    hits: pl.DataFrame, known: Sequence[TokenIndex] = (), *, threshold: float = 0.9
) -> pl.DataFrame:
    """``hits`` without those whose Jaccard index with a better one reaches ``threshold``.

    ``known`` are existing token sets; other texts are hashed here.
    """
    hits, query_id = _one_place_a_change(hits)
    sets, number = of_hits(hits, known, index_tokens)
    return _unique(hits, jaccard_representatives(query_id, number, sets, threshold=threshold))


def cosine(hits: pl.DataFrame, chunks: pl.DataFrame, *, threshold: float = 0.95) -> pl.DataFrame:
    """``hits`` without those with a cosine >= ``threshold`` to a better one in another document.

    ``chunks`` (``CHUNKS``) has the hits' embeddings.
    """
    hits, query_id = _one_place_a_change(hits)
    vectors, number = _vectors(hits["chunk_id"].to_numpy(), chunks)
    of = documents(hits)
    return _unique(hits, cosine_representatives(query_id, number, vectors, of, threshold=threshold))


def guarded(
    hits: pl.DataFrame,
    known: Sequence[SimilarityIndex] = (),
    *,
    jaccard_threshold: float = 0.9,
    cosine_threshold: float = 0.95,
    twins: bool = True,
) -> pl.DataFrame:
    """``hits`` without near-duplicates of better ones, by :mod:`operators.dedup.guarded`.

    ``known`` are similarity indexes of the hits' chunks; of other hits only the texts are compared.
    With ``twins`` also without the worse form of code that is sync and async
    (:mod:`operators.dedup.twins`), from ``jaccard_threshold`` on.
    """
    hits, query_id = _one_place_a_change(hits)
    indexes, number = of_hits(hits, known, index_similarity)
    thresholds = (jaccard_threshold, cosine_threshold)
    kept = _unique(hits, guarded_representatives(query_id, number, joined(indexes), *thresholds))
    return _unique(kept, twin_representatives(kept, jaccard_threshold)) if twins else kept


def newest(hits: pl.DataFrame, chunks: pl.DataFrame, *, threshold: float = 0.95) -> pl.DataFrame:
    """``hits`` without near-duplicates of later documents, by :mod:`operators.dedup.newest`.

    The others keep their ranks. The rule may come before reranking or after it, because it does
    not depend on ranks.
    """
    hits, query_id = _one_place_a_change(hits)
    vectors, number = _vectors(hits["chunk_id"].to_numpy(), chunks)
    representative = newest_representatives(hits, query_id, number, vectors, threshold=threshold)
    return _unique(hits, representative)


def of_hits(
    hits: pl.DataFrame, known: Sequence[T], make: Callable[[pl.DataFrame], T]
) -> tuple[Sequence[T], Integers]:
    """Entries for all of ``hits``, and the number of each row's own among them.

    ``make`` makes the entries that ``known`` lacks, from rows of ``hits``, each chunk once.
    """
    ids = np.concatenate([np.zeros(0, np.int64), *(one.chunk_id for one in known)])
    wanted = hits["chunk_id"].to_numpy()
    number = positions(ids, wanted)
    missing = np.flatnonzero(number < 0)
    if not len(missing):
        return known, number
    fresh = make(hits[missing[np.unique(wanted[missing], return_index=True)[1]]])
    number[missing] = len(ids) + positions(fresh.chunk_id, wanted[missing])
    return (*known, fresh), number


def _one_place_a_change(hits: pl.DataFrame) -> tuple[pl.DataFrame, Column]:
    hits = by_rank(hits)
    hits = _unique(hits, change_representatives(hits))
    return hits, hits["query_id"].to_numpy()


def _unique(hits: pl.DataFrame, representative: Integers) -> pl.DataFrame:
    kept = absorb(hits, representative)
    if kept.height == hits.height:
        return kept
    return replaced(kept, pl.Series("rank", places(kept["query_id"].to_numpy())))


def _vectors(chunk_id: Integers, chunks: pl.DataFrame) -> tuple[Floats, Integers]:
    """The unit vectors of these chunks, and each one's row; a chunk without one has zeros."""
    there = np.isin(chunks["chunk_id"].to_numpy(), chunk_id)
    if not there.any():
        return np.zeros((1, 0)), np.full(len(chunk_id), -1)
    known = chunks["chunk_id", "embedding"][index(np.flatnonzero(there))]
    vectors = unit_vectors(known["embedding"])
    number = positions(known["chunk_id"].to_numpy(), chunk_id)
    return np.concatenate([vectors, np.zeros((1, vectors.shape[1]))]), number

"""Copies by their meaning: the cosine of two chunks' embeddings, in different documents only.

Two neighbouring chunks of one document are often alike and both wanted. A vector that is missing,
zero or not finite is like nothing, not even itself.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from operators.arrays.segments import Column, Floats, Integers
from operators.dedup.greedy import Flags, Pairs, greedy

_SLACK = 1e-4  # of the float32 product that finds candidates; float64 decides


def cosine_keepers(
    query_id: Column,
    number: Integers,
    vectors: Floats,
    document: Integers,
    *,
    threshold: float,
) -> Integers:
    """Which row each row belongs to when copies are dropped greedily from the best.

    Args:
        query_id: the query of each row; rows are sorted by query and rank.
        number: each row's vector in ``vectors``, or -1 for none.
        vectors: unit vectors, as :func:`unit_vectors` gives them.
        document: a number for each row's document; rows of one document are no copies.
        threshold: the cosine from which on two rows are copies, above 0 and at most 1.

    Raises:
        ValueError: the threshold is out of range.
    """
    check_threshold(threshold)
    single = vectors.astype(np.float32)

    def find(rows: Integers, may_better: Flags, may_worse: Flags) -> Pairs:
        spans = _spans(query_id[rows])
        found = [_within(rows[s], may_better[s], may_worse[s]) for s in spans]
        better = np.concatenate([np.zeros(0, np.int64), *(pair[0] for pair in found)])
        worse = np.concatenate([np.zeros(0, np.int64), *(pair[1] for pair in found)])
        return better, worse

    def _within(rows: Integers, may_better: Flags, may_worse: Flags) -> Pairs:
        usable = number[rows] >= 0
        first, second = rows[usable & may_better], rows[usable & may_worse]
        near = single[number[first]] @ single[number[second]].T >= threshold - _SLACK
        one, two = np.nonzero(near)
        better, worse = first[one], second[two]
        some = (better < worse) & (document[better] != document[worse])
        better, worse = better[some], worse[some]
        copies = cosines(vectors, number[better], number[worse]) >= threshold
        return better[copies], worse[copies]

    return greedy(query_id, find)


def check_threshold(threshold: float) -> None:
    """Raise ValueError unless ``threshold`` is a cosine that makes sense as a limit."""
    if not 0 < threshold <= 1:
        raise ValueError(f"a cosine threshold must be above 0 and at most 1, got {threshold}")


def cosines(vectors: Floats, one: Integers, two: Integers) -> Floats:
    """The cosine of each pair of rows of ``vectors`` (unit vectors), in float64."""
    products: Floats = np.einsum("ij,ij->i", vectors[one], vectors[two])
    return np.minimum(products, 1.0)


def unit_vectors(embeddings: pl.Series) -> tuple[Floats, NDArray[np.int64]]:
    """The usable embeddings scaled to length 1, in float64, and each row's place among them.

    A row that is null, zero, not finite or of another length than most has the place -1.
    """
    rows, matrix = _matrix(embeddings)
    place = np.full(len(embeddings), -1)
    length = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
    good = np.isfinite(length) & (length > 0)
    place[rows[good]] = np.arange(int(good.sum()))
    return matrix[good] / length[good, None], place


def _matrix(embeddings: pl.Series) -> tuple[NDArray[np.int64], Floats]:
    """The rows that have a vector of the usual length, and these vectors."""
    if isinstance(embeddings.dtype, pl.Array):
        if len(embeddings) and not embeddings.null_count():
            return np.arange(len(embeddings)), embeddings.to_numpy().astype(np.float64)
        embeddings = embeddings.cast(pl.List(embeddings.dtype.inner))
    sizes = embeddings.list.len().fill_null(0).to_numpy().astype(np.int64)
    usual = int(np.bincount(sizes[sizes > 0]).argmax()) if (sizes > 0).any() else 0
    rows = np.flatnonzero(sizes == usual) if usual else np.zeros(0, np.int64)
    values = embeddings[rows].explode().to_numpy() if len(rows) else np.zeros(0)
    return rows, values.astype(np.float64).reshape(len(rows), usual)


def _spans(query_id: Column) -> list[slice]:
    edges = np.flatnonzero(query_id[1:] != query_id[:-1]) + 1
    ends = [0, *edges.tolist(), len(query_id)]
    return [slice(a, b) for a, b in pairwise(ends) if b > a]

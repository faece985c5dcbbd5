"""Near-duplicates by vector: the cosine of two chunks' embeddings, in different documents only.

Two neighbouring chunks of one document are often similar, and both are wanted. A vector that is
missing, zero or not finite is similar to nothing, not even to itself.
"""

import numpy as np
import polars as pl

from operators.arrays.segments import Column, Flags, Floats, Integers
from operators.dedup.greedy import greedy
from operators.dedup.representatives import check_threshold

# One product of unit vectors is small enough that numpy's library uses no second thread: on a
# busy machine the wait for that thread takes a thousand times as long as the product.
_ROWS, _MULTIPLICATIONS = 16, 250_000
ROUNDING = 1e-12  # tolerance: the cosine of two equal unit vectors may be below 1


def cosine_representatives(
    query_id: Column, number: Integers, vectors: Floats, document: Integers, *, threshold: float
) -> Integers:
    """For each row the row that represents it: itself, or the best of its near-duplicates.

    Rows of one ``document`` (a number per row) are no duplicates. ``vectors`` are unit vectors, as
    :func:`unit_vectors` returns them.

    Raises:
        ValueError: the threshold is out of range.
    """
    check_threshold("cosine", threshold)

    def near(rows: Integers, others: Integers) -> Flags:
        return _cosines(vectors[number[rows]], vectors[number[others]]) >= threshold - ROUNDING

    def choose(row: int, candidates: Integers) -> int | None:
        elsewhere = document[candidates] != document[row]
        return int(candidates[elsewhere.argmax()]) if elsewhere.any() else None

    return greedy(query_id, near, choose)


def _cosines(some: Floats, others: Floats) -> Floats:
    columns = max(_MULTIPLICATIONS // (_ROWS * max(others.shape[1], 1)), 1)
    result = np.empty((len(some), len(others)))
    for row in range(0, len(some), _ROWS):
        for column in range(0, len(others), columns):
            cut = slice(row, row + _ROWS), slice(column, column + columns)
            result[cut] = some[cut[0]] @ others[cut[1]].T
    return result


def unit_vectors(embeddings: pl.Series) -> Floats:
    """The embeddings scaled to length 1, in float64, one per row.

    A row that is null, zero, not finite or of an unusual length is all zeros.
    """
    if not len(embeddings):
        return np.zeros((0, 0))
    if isinstance(embeddings.dtype, pl.Array) and not embeddings.null_count():
        vectors = embeddings.to_numpy().astype(np.float64)
    else:
        vectors = _usual(embeddings.cast(pl.List(pl.Float32)))
    length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    usable = np.isfinite(length) & (length > 0)
    vectors[~usable], length[~usable] = 0, 1
    vectors /= length[:, None]
    return vectors


def _usual(embeddings: pl.Series) -> Floats:
    """A matrix of the embeddings of the most common length; zeros for the others."""
    sizes = embeddings.list.len().fill_null(0).to_numpy()
    usual = int(np.bincount(sizes[sizes > 0]).argmax()) if sizes.any() else 0
    vectors = np.zeros((len(sizes), usual))
    rows = np.flatnonzero(sizes == usual)
    if usual:
        vectors[rows] = embeddings.gather(rows).explode().to_numpy().reshape(-1, usual)
    return vectors

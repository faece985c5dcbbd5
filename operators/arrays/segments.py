"""The one order of every ranked list.

Score descending, then vector rank, then text rank (absent last), then chunk_id: a total order, so
that a rerun gives the same list, and a batch the same list as its queries one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from operators.arrays.packed_sort import bits, blocks, lexorder, width

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Column = NDArray[Any]

_FEW = 250  # rows that np.lexsort sorts faster
_MANY = 10_000  # rows that are worth several threads
_COARSEST = 16  # bits of a score that tell most scores apart


def best_first(frame: pl.DataFrame, score: Floats) -> Integers:
    """The row numbers of ``frame`` in the order above, query by query.

    Args:
        frame: has the columns query_id, vector_rank, text_rank (null: not in that list), chunk_id.
        score: one number a row, higher is better; NaN comes last.
    """
    return permutation(
        frame["query_id"].to_numpy(),
        score,
        frame["vector_rank"].to_numpy(),
        frame["text_rank"].to_numpy(),
        frame["chunk_id"].to_numpy(),
    )


def permutation(
    query_id: Column, score: Column, vector_rank: Column, text_rank: Column, chunk_id: Column
) -> Integers:
    """As :func:`best_first`, on arrays; an absent rank is NaN."""
    columns = (query_id, score, vector_rank, text_rank, chunk_id)
    some, *others = blocks(query_id)
    if not others:
        return _order(*columns)
    found = [rows[_order(*(column[rows] for column in columns))] for rows in (some, *others)]
    return np.concatenate(found)


def _order(
    query_id: Column, score: Column, vector_rank: Column, text_rank: Column, chunk_id: Column
) -> Integers:
    """The same for a block of queries.

    Many rows are sorted by whole numbers: of the score as many bits as fit beside the query and the
    ranks. Where it needed more bits, or a chunk_id decides, the rows are few and sorted again.
    """
    keys = (chunk_id, text_rank, vector_rank, -score, query_id)
    if len(score) <= _FEW:
        return np.lexsort(keys)
    top = score.max()
    span = float(top - score.min())
    ranks = (_absent_last(vector_rank), _absent_last(text_rank))
    room = 64 - bits(len(score)) - sum(width(column) for column in (query_id, *ranks))
    scale = ((1 << min(room, 48)) - 1) / span if room >= _COARSEST and span > 0 else 0.0
    if not (np.isfinite(span) and np.isfinite(scale)):  # of NaN as well
        return np.lexsort(keys)
    level = ((top - score) * scale).astype(np.int64)
    order, key = lexorder(query_id, level, *ranks)
    value = score[order]
    rises = np.flatnonzero(value[1:] > value[:-1])
    rises = rises[query_id[order[rises]] == query_id[order[rises + 1]]]
    tied = np.flatnonzero(key[1:] == key[:-1])
    tied = tied[chunk_id[order[tied]] > chunk_id[order[tied + 1]]]
    if len(rises) or len(tied):  # then whole runs of one query and level are sorted again
        begins = np.flatnonzero(changes(query_id[order]) | changes(level[order]))
        wrong = np.concatenate((rises, tied))
        run = np.unique(np.searchsorted(begins, wrong, side="right") - 1)
        size = lengths(begins, len(order))[run]
        again = np.repeat(begins[run] - offsets(size)[:-1], size) + np.arange(size.sum())
        order[again] = order[again][np.lexsort([key[order[again]] for key in keys])]
    return order


def _absent_last(rank: Column) -> Integers:
    """Ranks as whole numbers; NaN is one more than the highest."""
    if rank.dtype.kind != "f":
        return rank
    absent = np.isnan(rank)
    present = np.where(absent, 0.0, rank)
    return np.where(absent, present.max() + 1, present).astype(np.int64)


def places(query_id: Column) -> NDArray[np.uint32]:
    """Each row's 0-based place within its query; the rows of a query stand together.

    >>> places(np.array([4, 4, 9])).tolist()
    [0, 1, 0]
    """
    begins = starts(query_id)
    if len(begins) <= 1:
        return np.arange(len(query_id), dtype=np.uint32)
    first = np.repeat(begins.astype(np.uint32), lengths(begins, len(query_id)))
    return np.arange(len(query_id), dtype=np.uint32) - first


def starts(query_id: Column) -> Integers:
    """The row where each query begins; the rows of a query stand together."""
    return np.flatnonzero(changes(query_id))


def lengths(begins: Integers, total: int) -> Integers:
    """How many rows there are from each of ``begins`` to the next, of ``total``.

    >>> lengths(np.array([0, 2]), 5).tolist()
    [2, 3]
    """
    return np.concatenate((begins[1:], [total])) - begins


def changes(values: Column) -> NDArray[np.bool_]:
    """Whether each value differs from the one before; the first does."""
    found = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=found[1:])
    return found


def offsets(counts: Column) -> Integers:
    """Where each of so many things begins when they stand one after the other, and the end.

    >>> offsets(np.array([2, 0, 3])).tolist()
    [0, 2, 2, 5]
    """
    found = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=found[1:])
    return found


def ranked(frame: pl.DataFrame, score: Floats) -> pl.DataFrame:
    """``frame`` in the order that ``score`` gives, with the columns ``score`` and ``rank`` anew."""
    order = best_first(frame, score)
    chosen = take(frame, order)
    rank = places(chosen["query_id"].to_numpy())
    return replaced(chosen, pl.Series("score", score[order]), pl.Series("rank", rank))


def take(frame: pl.DataFrame, rows: Integers) -> pl.DataFrame:
    """The rows of ``frame`` with these numbers, in this order.

    Polars gathers lists a thousand times slower from several pieces of memory than from one; and
    gathers a frame on threads of its own, which for a few rows is all waiting, but not a struct.
    """
    frame, at = frame.rechunk(), index(rows)
    return frame[at] if len(rows) > _MANY else frame.to_struct()[at].struct.unnest()


def index(rows: Integers) -> pl.Series:
    """Row numbers as Polars takes them fastest."""
    return pl.Series(rows.astype(np.uint32))


def replaced(frame: pl.DataFrame, *columns: pl.Series) -> pl.DataFrame:
    """``frame`` with ``columns`` instead of those of the same names, new ones at its end.

    What ``with_columns`` does, at a tenth of its price for a small frame.
    """
    made = frame.clone()
    names = made.columns
    for column in columns:
        if column.name in names:
            made.replace_column(names.index(column.name), column)
        else:
            made.insert_column(made.width, column)
    return made


def cut(frame: pl.DataFrame, top_k: int) -> pl.DataFrame:
    """The rows of ``frame`` among the first ``top_k`` of their query.

    Raises:
        ValueError: ``top_k`` is negative.
    """
    if top_k < 0:
        raise ValueError(f"top_k must be 0 or more, got {top_k}")
    frame = listed(frame)
    kept = np.flatnonzero(places(frame["query_id"].to_numpy()) < top_k)
    if not len(kept) or kept[-1] == len(kept) - 1:  # one query, or all of it
        return frame.head(len(kept))
    return take(frame, kept)


def listed(frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` by query and rank; the very same frame where it is so already."""
    query_id, rank = frame["query_id"].to_numpy(), frame["rank"].to_numpy()
    same = query_id[1:] == query_id[:-1]
    falls = np.where(same, rank[1:] < rank[:-1], query_id[1:] < query_id[:-1])
    if not falls.any():
        return frame
    return take(frame, np.lexsort((frame["chunk_id"].to_numpy(), rank, query_id)))


def positions(keys: Column, wanted: Column) -> Integers:
    """For each of ``wanted`` the row of ``keys`` that has it, the first one; -1 where none has.

    >>> positions(np.array([7, 5]), np.array([5, 6, 7])).tolist()
    [1, -1, 0]
    """
    if not len(keys):
        return np.full(len(wanted), -1)
    order = np.argsort(keys, kind="stable")
    found = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
    return np.where(keys[found] == wanted, found, -1)


def nullable(name: str, values: Floats, dtype: type[pl.DataType]) -> pl.Series:
    """A column of ``dtype`` that is null where ``values`` is NaN."""
    return pl.Series(name, values, nan_to_null=True).cast(dtype)

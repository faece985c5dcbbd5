"""Selects rows of a frame, and replaces its columns."""

import numpy as np
import polars as pl

from operators.arrays.segments import Integers, changes, positions

_MANY = 10_000  # rows that are worth several threads


def take(frame: pl.DataFrame, rows: Integers) -> pl.DataFrame:
    """The rows of ``frame`` with these numbers, in this order.

    Polars gathers lists a thousand times slower from several chunks of memory than from one. It
    gathers a frame, but not a struct, on its own threads; for a few rows that is only waiting.
    """
    frame, at = frame.rechunk(), index(rows)
    return frame[at] if len(rows) > _MANY else frame.to_struct()[at].struct.unnest()


def index(rows: Integers) -> pl.Series:
    """Row numbers in the type that Polars gathers fastest."""
    return pl.Series(rows.astype(np.uint32))


def replaced(frame: pl.DataFrame, *columns: pl.Series) -> pl.DataFrame:
    """``frame`` with ``columns`` instead of those of the same names, new ones at its end.

    Same as ``with_columns``, at a tenth of its cost for a small frame.
    """
    made = frame.clone()
    names = made.columns
    for column in columns:
        if column.name in names:
            made.replace_column(names.index(column.name), column)
        else:
            made.insert_column(made.width, column)
    return made


def list_numbers(frame: pl.DataFrame) -> Integers:
    """The number of each row's list, of a query in a corpus; the rows of a list are adjacent.

    >>> rows = [(0, "code"), (0, "code"), (1, "code"), (1, "wiki")]
    >>> list_numbers(pl.DataFrame(rows, ["query_id", "corpus"], orient="row")).tolist()
    [0, 0, 1, 2]
    """
    columns = (frame["query_id"].to_numpy(), frame["corpus"].to_numpy())
    return np.cumsum(changes(*columns)) - 1


def by_rank_in_corpora(frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` sorted by corpus, query and rank; the same object if it is sorted already."""
    corpus, query_id, rank = (frame[name].to_numpy() for name in ("corpus", "query_id", "rank"))
    falls = np.where(
        query_id[1:] == query_id[:-1], rank[1:] < rank[:-1], query_id[1:] < query_id[:-1]
    )
    falls = np.where(corpus[1:] == corpus[:-1], falls, corpus[1:] < corpus[:-1])
    return frame.sort("corpus", "query_id", "rank", "chunk_id") if falls.any() else frame


def chunk_rows(chunks: pl.DataFrame, corpora: pl.Series, chunk_id: Integers) -> Integers:
    """For each corpus and chunk its row of ``chunks``; -1 if there is none.

    ``chunks`` has the columns corpus and chunk_id; two corpora may have the same chunk.
    """
    names, ids, wanted = (one.to_numpy() for one in (chunks["corpus"], chunks["chunk_id"], corpora))
    found = np.full(len(wanted), -1)
    for corpus in dict.fromkeys(wanted.tolist()):
        there, asked = np.flatnonzero(names == corpus), np.flatnonzero(wanted == corpus)
        row = positions(ids[there], chunk_id[asked])
        found[asked] = np.where(row < 0, -1, there[row] if len(there) else -1)
    return found


def by_rank(frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` sorted by query and rank; the same object if it is sorted already."""
    query_id, rank = frame["query_id"].to_numpy(), frame["rank"].to_numpy()
    same = query_id[1:] == query_id[:-1]
    falls = np.where(same, rank[1:] < rank[:-1], query_id[1:] < query_id[:-1])
    if not falls.any():
        return frame
    return take(frame, np.lexsort((frame["chunk_id"].to_numpy(), rank, query_id)))

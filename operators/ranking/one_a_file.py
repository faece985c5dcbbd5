"""A list of one passage a file first: a reader sees more files, and none is lost."""

from collections import defaultdict

import numpy as np
import polars as pl

from operators.arrays.rows import by_rank, replaced, take


def one_of_each_file(hits: pl.DataFrame, top_k: int) -> pl.DataFrame:
    """The ``top_k`` best of each query: first one passage per file, then others of these files.

    ``hits`` is ``FUSED``; a document without a path counts as a file. The order is unchanged.
    """
    kept = by_rank(hits)
    places = kept.select("query_id", "corpus", "repo", pl.coalesce("path", "document_id")).rows()
    firsts, others = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    known = set[tuple[object, ...]]()
    for row, place in enumerate(places):
        (others if place in known else firsts)[place[0]].append(row)
        known.add(place)
    chosen = [sorted((rows + others[query])[:top_k]) for query, rows in firsts.items()]
    ranks = [place for rows in chosen for place in range(len(rows))]
    shown = take(kept, np.array([row for rows in chosen for row in rows], dtype=np.int64))
    return replaced(shown, pl.Series("rank", ranks, pl.UInt32))

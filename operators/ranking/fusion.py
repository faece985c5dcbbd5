"""Fusion of the lists of all corpora into one list.

``comb_sum`` adds the merged scores unchanged: they are on one scale if ``normalized`` put them on
one. ``rrf`` adds reciprocal ranks: the first hit of every corpus has the same value, whatever
its score.

Each takes the ``UNIFIED`` rows of all corpora and ``recency``, the factor of a row's age, and
returns ``FUSED``, ``part`` and ``other_parts``, which make the score. The same chunk in the lists
of several corpora becomes one row, that of its best rank; its scores are added in row order,
and the other rows become alternates.
"""

import numpy as np
import polars as pl

from operators.arrays.alternates import with_alternates
from operators.arrays.lists import lists
from operators.arrays.rows import replaced
from operators.frames import PART
from operators.ranking.merge import reciprocal
from operators.ranking.total_order import ranked

_KEY = ("query_id", "chunk_id")


def rrf(hits: pl.DataFrame, *, rrf_k: float = 60) -> pl.DataFrame:
    """The sum over the corpora of ``1 / (rrf_k + rank in the corpus)``, times ``recency``.

    ``rrf_k`` is above 0; the larger, the less the first ranks stand out.

    >>> from operators.frames import UNIFIED
    >>> rows = [(1, "code", 0), (2, "code", 1), (2, "wiki", 0)]
    >>> each = {"query_id": 0, "alternate_sources": []}
    >>> hits = [{**each, "chunk_id": n, "corpus": c, "rank": r} for n, c, r in rows]
    >>> hits = pl.DataFrame(hits, schema=UNIFIED).with_columns(recency=1.0)
    >>> rrf(hits, rrf_k=1)["chunk_id", "corpus", "score"].rows()
    [(2, 'wiki', 1.5), (1, 'code', 1.0)]
    """
    return fused(hits, reciprocal("rank", rrf_k))


def comb_sum(hits: pl.DataFrame) -> pl.DataFrame:
    """The sum over the corpora of the merged scores, times ``recency``.

    >>> from operators.frames import UNIFIED
    >>> rows = [(1, "code", 0.5), (2, "code", 0.25), (2, "wiki", 0.5)]
    >>> each = {"query_id": 0, "rank": 0, "alternate_sources": []}
    >>> hits = [{**each, "chunk_id": n, "corpus": c, "corpus_score": s} for n, c, s in rows]
    >>> hits = pl.DataFrame(hits, schema=UNIFIED).with_columns(recency=1.0)
    >>> comb_sum(hits)["chunk_id", "score"].rows()
    [(2, 0.75), (1, 0.5)]
    """
    return fused(hits, pl.col("corpus_score").fill_null(0.0))


def fused(hits: pl.DataFrame, part: pl.Expr) -> pl.DataFrame:
    """One row per chunk: its score is the sum of its ``part`` in every corpus, times ``recency``.

    Args:
        hits: as for the module.
        part: what a row adds to the score of its chunk.
    """
    info = pl.struct(name for name in PART.to_schema()).alias("part")
    parts = hits.with_row_index("row").with_columns(part=part, corpus_rank="rank", total=part)
    parts = parts.select(*_KEY, "row", "rank", "vector_rank", "text_rank", "total", "recency", info)
    # few chunks, or none, are in several corpora; a running sum adds in the order of the rows
    is_shared = pl.struct(_KEY).is_duplicated()
    shared = parts.filter(is_shared).with_columns(pl.col("total").cum_sum().last().over(_KEY))
    best = shared.sort(*_KEY, "rank", "row").unique(_KEY, keep="first", maintain_order=True)
    list_of_all = ranked(
        pl.concat([parts.filter(~is_shared), best]), pl.col("total") * pl.col("recency")
    )
    owners = list_of_all[_KEY].with_row_index("owner")
    others = shared.join(best, on="row", how="anti").join(owners, on=_KEY).sort("owner", "row")
    owner = others["owner"].to_numpy().astype(np.int64)
    kept, gone = (frame["row"].to_numpy().astype(np.int64) for frame in (list_of_all, others))
    columns = hits.drop("recency")
    made = [list_of_all[name] for name in ("rank", "score", "part")]
    other_parts = lists(others["part"].alias("other_parts"), owner, len(kept))
    return replaced(with_alternates(columns, kept, gone, owner), *made, other_parts)

"""A threshold below which the hits are unlikely to answer the query.

If a collection answers a query, its best passage is near to it, and covers its words. For queries
made for other projects neither holds. Values above the threshold say no more: there the share of
queries with a relevant passage among the first five is the same at every value, so there is no
"strong" level (benchmarks/notes has the numbers).
"""

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from operators.foundation.escape import label_text
from operators.frames import NOTES, empty

BELOW = 0.54

WEAK = "weak evidence"
"""The beginning of the note."""


def is_weak(notes: Iterable[str]) -> bool:
    """Whether one of an answer's ``notes`` says that its evidence is weak."""
    return any(note.startswith(WEAK) for note in notes)


def evidence(scale: pl.DataFrame) -> pl.DataFrame:
    """Columns query_id and evidence: ``V + C / 2``; null if no vector search succeeded.

    ``V`` is the similarity of the nearest passage of all corpora, ``C`` the share of the query's
    words, by their weight, that the best passage covers. ``scale`` is ``SCORE_SCALE``.
    """
    near = pl.col("similarity").filter(pl.col("space").is_null()).max()
    return scale.group_by("query_id", maintain_order=True).agg(
        evidence=near + pl.col("coverage").max().fill_null(0.0) / 2
    )


def notes(scale: pl.DataFrame, below: float, absent: Mapping[int, Sequence[str]]) -> pl.DataFrame:
    """``NOTES``: a sentence for each query with ``absent`` names or with evidence ``below`` this.

    Args:
        scale: ``SCORE_SCALE``.
        below: of :func:`evidence`.
        absent: by query the names that it looks up, if no hit has one of them.
    """
    named = {
        query_id: " or ".join(f'"{label_text(name)}"' for name in names)
        for query_id, names in absent.items()
    }
    rows = [(query_id, f"{WEAK}: no passage found has {of}") for query_id, of in named.items()]
    rows += [
        (
            query_id,
            f"{WEAK} ({value:.2f}, where answers have {below} or more):"
            " what was found may not answer this question",
        )
        for query_id, value in evidence(scale).drop_nulls().iter_rows()
        if value < below and query_id not in absent
    ]
    return pl.DataFrame(rows, schema=NOTES, orient="row") if rows else empty(NOTES)

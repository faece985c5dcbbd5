"""Whether anything that was found is likely to answer: some questions have no answer here.

The best passage of a question that a collection answers is near to it, and covers its words. Of
questions made for other projects neither holds. What lies above the border says no more: there the
share of questions with a relevant passage among the first five is the same at every value, so that
there is no "strong" beside it (benchmarks/README.md has the numbers).
"""

from collections.abc import Mapping

import polars as pl

from operators.frames import NOTES, empty

BELOW: dict[str, float] = {"minilm": 0.54}
"""For a model, the border; another model's similarities are on another scale."""

WEAK = "weak evidence"
"""How the note begins."""


def evidence(scale: pl.DataFrame) -> pl.DataFrame:
    """Columns query_id and evidence: ``V + C / 2``; null where no search by vectors answered.

    ``V`` is the similarity of the nearest passage of all corpora, ``C`` the share of the question's
    words, by their weight, that the best passage covers. ``scale`` is ``SCORE_SCALE``.
    """
    near = pl.col("similarity").filter(pl.col("space").is_null()).max()
    return scale.group_by("query_id", maintain_order=True).agg(
        evidence=near + pl.col("coverage").max().fill_null(0.0) / 2
    )


def notes(scale: pl.DataFrame, model: str, below: Mapping[str, float]) -> pl.DataFrame:
    """``NOTES``: a sentence for each question whose evidence is below the border of ``model``."""
    if model not in below:
        return empty(NOTES)
    rows = [
        (
            query_id,
            f"{WEAK} ({found:.2f}, where answers have {below[model]} or more):"
            " what was found may not answer this question",
        )
        for query_id, found in evidence(scale).drop_nulls().iter_rows()
        if found < below[model]
    ]
    return pl.DataFrame(rows, schema=NOTES, orient="row") if rows else empty(NOTES)

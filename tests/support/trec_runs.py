"""A run file read back."""

from pathlib import Path

import polars as pl

from operators.evaluation.judgements import fields_of, lines
from operators.evaluation.trec import numbered


def read_run(path: Path, *, config: str) -> pl.DataFrame:
    """``RUN`` of a file; ``corpus`` is null."""
    fields = [fields_of(line) for _, line in lines(path)]
    rows = [
        (query, document, int(rank), float(score)) for query, _, document, rank, score, _ in fields
    ]
    schema = {"query_id": pl.String, "doc_id": pl.String, "rank": pl.Int64, "score": pl.Float64}
    found = pl.DataFrame(rows, schema=schema, orient="row").sort("query_id", "rank")
    return numbered(found.with_columns(corpus=pl.lit(None, pl.String)), config)

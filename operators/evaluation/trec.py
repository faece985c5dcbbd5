"""Runs as files in the TREC format, which every evaluation tool reads."""

from pathlib import Path

import polars as pl

from operators.evaluation.evaluation_frames import RUN
from operators.evaluation.judgements import JudgementError


def write_run(run: pl.DataFrame, path: Path, *, tag: str) -> None:
    """Write ``query_id Q0 doc_id rank score tag`` per line, ranks from 1.

    A space separates the fields, or a tab if an id has spaces; tools that split at any white space
    can't read that. ``run`` (``RUN``) is of one configuration, in the order of the file.

    Raises:
        JudgementError: an id is empty, has a tab or a line break, or a space at an end.
    """
    ids = pl.concat([run["query_id"], run["doc_id"]]).unique(maintain_order=True)
    broken = ids.filter(
        ids.str.contains(r"[\t\r\n\v\f\x1c-\x1e\x85\u{2028}\u{2029}]|^\s|\s$") | (ids == "")
    )
    if len(broken):
        raise JudgementError(
            f"{path}: the id {broken[0]!r} can't be in a run file: it is empty, has a tab or a "
            "line break, or begins or ends with a space"
        )
    apart = "\t" if ids.str.contains(r"[\s\x1f]").any() else " "
    line = pl.concat_str(
        "query_id",
        pl.lit("Q0"),
        "doc_id",
        (pl.col("rank") + 1).cast(pl.String),
        pl.col("score").cast(pl.String),
        pl.lit("_".join(tag.split()) or "run"),
        separator=apart,
    )
    text = "".join(f"{row}\n" for row in run.select(line=line)["line"])
    path.write_text(text, encoding="utf-8", newline="\n")


def numbered(documents: pl.DataFrame, config: str) -> pl.DataFrame:
    """``documents`` (query_id, doc_id, corpus; best first) as ``RUN``, ranks and scores by order.

    The score counts down to 1: without ties, every tool keeps the order.
    """
    rank = pl.int_range(pl.len()).over("query_id")
    return documents.with_columns(
        config=pl.lit(config),
        rank=rank.cast(pl.UInt32),
        score=(pl.len().over("query_id") - rank).cast(pl.Float64),
    ).select(list(RUN))

"""A batch of queries as a frame: optional columns and checks.

A caller overrides the node ``queries`` to run many queries in one pass.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from dataflow.configuration.catalog import RUN_INPUTS
from operators.errors import CrosscorpusError, UnknownName, check_known, suggest
from operators.frames import QUERIES, TRIGGER_SHARE, FrameError, check
from operators.options import FILTERS, INPUTS
from operators.question.ask import LONGEST_TEXT, asked_texts, check_order, shortened
from operators.question.read_options import check_texts

_NAMED_SHARES = pl.List(TRIGGER_SHARE)
_IN_COLUMNS = {
    "queries": INPUTS | {"query", "trigger"},
    "scoped_queries": INPUTS,
    "version_scope": frozenset({"versions"}),
}
"""Nodes with a frame whose columns replace these single-query inputs."""

POLICIES = ("newest", "all", "pinned", "as_of")


class BatchError(CrosscorpusError):
    """An invalid frame of queries; the message names the column."""


def refuse_ignored(inputs: Mapping[str, Any], overrides: Mapping[str, Any]) -> None:
    """Raise :class:`BatchError` for a single-query input in a batch: a batch has it as a column.

    An ignored list of repositories would let all of them through. If both are given, only the
    override would be used.
    """
    values = {**inputs, **overrides}
    for node, fields in _IN_COLUMNS.items():
        ignored = [name for name in values if name in fields and values[name] is not None]
        if node in overrides and ignored:
            column = "a column of that name" if node == "queries" else "the columns of that frame"
            raise BatchError(
                f"{', '.join(sorted(ignored))}: an input of one question, and the node {node} is "
                f"overridden: give each question its own in {column}"
            )
    for name in sorted(RUN_INPUTS & inputs.keys() & overrides.keys()):
        raise BatchError(f"{name} is given as an input and as an override: give it once")


def complete_queries(
    frame: pl.DataFrame,
    *,
    triggers: Collection[str],
    corpora: Collection[str],
    longest: int = LONGEST_TEXT,
) -> pl.DataFrame:
    """Complete a frame of queries to the schema of the node ``queries``.

    Args:
        frame: ``query_id`` (whole numbers, each once) and ``text`` (String) or ``texts``
            (List(String)); any other column of :data:`operators.frames.QUERIES` may be given, and
            ``only_corpora`` for ``corpora``. ``trigger`` may be a name (String; "none" is none).
            Times without a zone are UTC.
        triggers: the triggers that exist.
        corpora: the corpora that exist.
        longest: the maximum length of a text, in characters.

    Returns:
        A frame of :data:`operators.frames.QUERIES`, in the given order; missing columns are null.
        ``texts`` and ``cut`` are as :func:`operators.question.ask.ask` returns them.

    Raises:
        BatchError: a column is missing, given in both forms, of a wrong type, or null or empty
            where that is not allowed.
        CrosscorpusError: a text is too long (:mod:`operators.options`).
        UnknownName: an unknown column, trigger or corpus.
    """
    queries = frame
    for one, same in (("text", "texts"), ("only_corpora", "corpora")):
        if {one, same} <= {*queries.columns}:
            raise BatchError(f"queries: {one!r} and {same!r} mean the same: give only one")
    if "text" in queries.columns:
        queries = queries.with_columns(texts=pl.concat_list(pl.col("text"))).drop("text")
    if "only_corpora" in queries.columns:
        queries = queries.rename({"only_corpora": "corpora"})
    for column in queries.columns:
        if column not in QUERIES:
            raise UnknownName(
                f"queries: unknown column {column!r}{suggest(column, [*QUERIES, 'text'])}"
            )
    for column in ("query_id", "texts"):
        if column not in queries.columns:
            raise BatchError(f"queries: the column {column!r} is missing")
    if queries.schema.get("trigger") == pl.String:
        share = pl.struct(trigger="trigger", share=pl.lit(1.0))
        named = pl.when(pl.col("trigger").fill_null("none") != "none").then(pl.concat_list(share))
        queries = queries.with_columns(trigger=named.otherwise(pl.lit([], dtype=_NAMED_SHARES)))
    completed = queries.select(_column(queries, name, dtype) for name, dtype in QUERIES.items())
    try:
        check(completed, QUERIES, "queries")
    except FrameError as error:
        raise BatchError(str(error)) from None
    completed = _with_texts(completed, longest)
    _check_values(completed, triggers, corpora)
    return completed


def _with_texts(frame: pl.DataFrame, longest: int) -> pl.DataFrame:
    column: Sequence[Sequence[str | None] | None] = frame["texts"].to_list()
    phrasings = [[text for text in of or () if text is not None] for of in column]
    texts = [asked_texts(of, longest) for of in phrasings]
    if not all(texts):
        raise BatchError("queries: an empty query; leave it out or give it words")
    cut = [shortened(of, longest) for of in phrasings]
    frame = frame.with_columns(pl.Series("cut", cut, dtype=pl.String))
    return frame if texts == column else frame.with_columns(pl.Series("texts", texts))


def _column(frame: pl.DataFrame, name: str, dtype: pl.DataType) -> pl.Expr:
    if name not in frame.columns:
        empty = pl.lit([], dtype=dtype) if name == "trigger" else pl.lit(None, dtype=dtype)
        return empty.alias(name)
    column, actual = pl.col(name), frame.schema[name]
    if actual == pl.Null:
        column = column.cast(dtype)
    elif isinstance(actual, pl.Datetime) and isinstance(dtype, pl.Datetime):
        utc = column.dt.replace_time_zone("UTC") if actual.time_zone is None else column
        column = utc.dt.convert_time_zone("UTC").dt.cast_time_unit("us")
    elif name == "query_id" and actual.is_integer():
        column = column.cast(dtype, strict=False)
    elif isinstance(actual, pl.List) and actual.inner == pl.Null:
        column = column.cast(dtype)
    if name == "trigger":
        column = column.fill_null(pl.lit([], dtype=dtype))
    return column


def _check_values(frame: pl.DataFrame, triggers: Collection[str], corpora: Collection[str]) -> None:
    if frame["query_id"].null_count():
        raise BatchError("queries: query_id must be whole numbers from 0 to 4294967295")
    if frame["query_id"].n_unique() != frame.height:
        raise BatchError("queries: a query_id is given more than once")
    for name in (one.column for one in FILTERS if one.kind in ("moment", "date")):
        if not frame[name].drop_nulls().dt.year().is_between(1, 9999).all():
            raise BatchError(f"queries: {name}: a moment is outside the years 1 to 9999 in UTC")
    for name in (one.column for one in FILTERS):
        check_texts(name, frame[name].drop_nulls().to_list())
    for since, until in frame["since", "until"].unique(maintain_order=True).iter_rows():
        check_order(since, until)
    for policy in frame["version_policy"].drop_nulls().unique(maintain_order=True):
        check_known("version policy", policy, POLICIES)
    shares = frame["trigger"].explode().drop_nulls()
    if len(shares):
        for trigger in shares.struct.field("trigger").unique(maintain_order=True):
            check_known("trigger", trigger, triggers)
        share = shares.struct.field("share")
        if not ((share >= 0) & share.is_finite()).fill_null(value=False).all():
            raise BatchError("queries: the shares of a trigger must be 0 or more")
    for corpus in frame["corpora"].explode().drop_nulls().unique(maintain_order=True):
        check_known("corpus", corpus, corpora)

"""Labels that tell the passages of one answer apart.

A label keeps its form where it is the only one of its kind among what a question found. Passages
that share a label get what differs, at its end: repository, path, document, place, at last the
chunk's id.
"""

import json
from collections.abc import Callable, Sequence

import polars as pl

from operators.arrays.rows import replaced
from operators.context.templates import short_label

Way = Callable[[int], str | None]
"""What a row's label may get at its end; the rows count as in the labels."""

ADDITIONS = r"(?:, (?:in .*|corpus \w+|line \d+|lines \d+-\d+|page \d+|passage \d+|#[0-9a-f]{16}))+"
"""What stands at the end of a label's inside to tell it from others, as a regular expression."""


def tell_apart(
    query_ids: Sequence[int], labels: Sequence[str], ways: Sequence[Way]
) -> Sequence[str]:
    """``labels`` with what differs at the end of those that one question has more than once.

    ``ways`` are tried in their order; the next one is for what is still alike.

    >>> tell_apart([0, 0, 1], ["[wiki: A]"] * 3, [lambda row: f"passage {row + 1}"])
    ['[wiki: A, passage 1]', '[wiki: A, passage 2]', '[wiki: A]']
    """
    keys = list(zip(query_ids, labels, strict=True))
    for way in ways:
        if len(set(keys)) == len(keys):
            break
        alike: dict[tuple[int, str], list[int]] = {}
        for row, key in enumerate(keys):
            alike.setdefault(key, []).append(row)
        for (query_id, label), rows in alike.items():
            said = [way(row) for row in rows] if len(rows) > 1 else []
            if len(set(said)) > 1:
                for row, more in zip(rows, said, strict=True):
                    keys[row] = (query_id, f"{label[:-1]}, {more}]" if more else label)
    return [label for _, label in keys]


def ways_of(chunks: pl.DataFrame, rows: Sequence[int]) -> list[Way]:
    """The ways to tell labels of ``chunks`` (``READ_CHUNKS``) apart; ``rows`` are their rows."""

    def named(column: str) -> Way:
        values = chunks[column]
        return lambda n: f"in {short_label(str(values[rows[n]]))}" if values[rows[n]] else None

    columns = chunks["metadata", "start_line", "end_line", "ordinal", "chunk_id"]

    def place(n: int) -> str:
        metadata, first, last, _, _ = columns.row(rows[n])
        page = json.loads(metadata or "{}").get("page")
        if isinstance(page, int):
            return f"page {page}"
        lines = f"line {first}" if first == last else f"lines {first}-{last}"
        return passage(n) if first is None else lines

    def passage(n: int) -> str:
        return f"passage {(columns.row(rows[n])[3] or 0) + 1}"

    def chunk_id(n: int) -> str:
        return f"#{columns.row(rows[n])[4] & (2**64 - 1):016x}"

    return [*map(named, ("repo", "path", "document_id")), place, passage, chunk_id]


def tell_corpora_apart(pooled: pl.DataFrame) -> pl.DataFrame:
    """``pooled`` (``UNIFIED``) with the corpus in the labels that passages of several share."""
    labels, corpora = pooled["source_label"].to_list(), pooled["corpus"]
    told = tell_apart(pooled["query_id"].to_list(), labels, [lambda n: f"corpus {corpora[n]}"])
    return replaced(pooled, pl.Series("source_label", told)) if told != labels else pooled

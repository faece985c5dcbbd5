"""Makes the labels of one answer distinct.

A label that occurs once among the hits of a query is unchanged. Passages with the same label get
their difference at its end: repository, path, document, location, finally the chunk's id.
"""

import json
from collections.abc import Callable, Hashable, Sequence
from functools import cache

import polars as pl

from operators.context.templates import short_label

Way = Callable[[int], str | None]
"""Returns the addition to a row's label; rows are numbered as the labels."""


def tell_apart(
    lists: Sequence[Hashable], labels: Sequence[str], ways: Sequence[Way]
) -> Sequence[str]:
    """``labels`` with additions to those that one of the ``lists`` has more than once.

    ``ways`` are tried in order; the next one is for labels that are still equal.

    >>> tell_apart([0, 0, 1], ["[wiki: A]"] * 3, [lambda row: f"passage {row + 1}"])
    ['[wiki: A, passage 1]', '[wiki: A, passage 2]', '[wiki: A]']
    """
    distinct = list(labels)
    rows_of: dict[tuple[Hashable, str], list[int]] = {}
    for row, key in enumerate(zip(lists, labels, strict=True)):
        rows_of.setdefault(key, []).append(row)
    for way in ways:
        differ = [
            (key, extra)
            for key, rows in rows_of.items()
            if len(rows) > 1 and len(set(extra := [*map(way, rows)])) > 1
        ]
        for (of, label), rows, extra in [(key, rows_of.pop(key), one) for key, one in differ]:
            for row, more in zip(rows, extra, strict=True):
                distinct[row] = f"{label[:-1]}, {more}]" if more else label
                rows_of.setdefault((of, distinct[row]), []).append(row)
    return distinct


def ways_of(chunks: pl.DataFrame, rows: Sequence[int]) -> list[Way]:
    """The additions for labels of ``chunks`` (``READ_CHUNKS``); ``rows`` are their rows."""

    columns = ("repo", "path", "document_id", "start_line", "end_line", "ordinal", "chunk_id")
    repos, paths, documents, firsts, lasts, ordinals, ids = (chunks[c].to_list() for c in columns)
    metadata = chunks["metadata"].to_list()
    short = cache(lambda value: f"in {short_label(str(value))}" if value else None)

    def location(n: int) -> str:
        text, first, last = metadata[rows[n]], firsts[rows[n]], lasts[rows[n]]
        page = json.loads(text).get("page") if '"page"' in (text or "") else None
        if isinstance(page, int):
            return f"page {page}"
        lines = f"line {first}" if first == last else f"lines {first}-{last}"
        return passage(n) if first is None else lines

    def passage(n: int) -> str:
        return f"passage {(ordinals[rows[n]] or 0) + 1}"

    def chunk_id(n: int) -> str:
        return f"#{ids[rows[n]] & (2**64 - 1):016x}"

    named = (lambda n, field=field: short(field[rows[n]]) for field in (repos, paths, documents))
    return [*named, location, passage, chunk_id]

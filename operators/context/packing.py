"""The text for a model: the best chunks that fit one shared budget.

Each chunk has a header of one line, ``=== 5c1f09ab24d1 2 [wiki: Title]``. The hexadecimal number
is the boundary of the request. It is computed from the query and the chunks, so that a rerun gives
the same context. It is changed until no content contains it, so that no content can forge a header.
Headers, separators and notes count against the budget.
"""

import hashlib
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import polars as pl

from operators.arrays.rows import by_rank
from operators.foundation.cancellation import checked
from operators.foundation.defusing import defused
from operators.foundation.escape import header_label
from operators.frames import CONTEXT, PACKED

SEPARATOR = "\n\n"
_SOURCE_COLUMNS = ["chunk_id", "corpus", "source_label", "source_url", "alternate_sources"]

Measure = Callable[[Sequence[str]], Sequence[int]]
"""Takes texts, returns the cost of each."""


def characters(texts: Sequence[str]) -> list[int]:
    """The number of characters (code points) of each text."""
    return [len(text) for text in texts]


def pack(
    results: pl.DataFrame,
    queries: pl.DataFrame,
    notes: pl.DataFrame,
    *,
    budget: int,
    label_names: Iterable[str],
    inert_markdown: bool = False,
    measure: Measure = characters,
) -> pl.DataFrame:
    """``PACKED``: the results that fit, top-ranked first, and the notes.

    A result that does not fit is skipped, and the next is tried. The notes are counted first. The
    last notes are dropped until the others fit the whole budget.

    Args:
        results: columns ``SHOWN``.
        queries: columns ``QUERIES``.
        notes: columns ``NOTES``.
        budget: in the unit of ``measure``, for each query.
        label_names, inert_markdown: see :func:`operators.foundation.defusing.defused`.
    """
    results = by_rank(results)
    harmless = partial(defused, label_names=frozenset(label_names), inert_markdown=inert_markdown)
    texts = harmless(results["text"])
    labels = headers(results["source_label"], harmless)
    ids, sources = results["chunk_id"].to_list(), results[_SOURCE_COLUMNS]
    by_query = defaultdict[int, list[int]](list)
    for row, query_id in enumerate(results["query_id"].to_list()):
        by_query[query_id].append(row)
    noted = defaultdict[int, list[str]](list)
    for query_id, note in zip(notes["query_id"], harmless(notes["note"]), strict=True):
        noted[query_id].append(note)

    packed: list[tuple[Any, ...]] = []
    blocks: list[tuple[Any, ...]] = []
    for query_id, query_texts in queries["query_id", "texts"].iter_rows():
        rows, remarks = by_query[query_id], noted[query_id]
        contents = [*remarks, *(labels[row] for row in rows), *(texts[row] for row in rows)]
        key = boundary([*query_texts, *(str(ids[row]) for row in rows)], contents)
        block = _notes(key, remarks, budget, measure)
        left = budget - sum(measure([SEPARATOR + block])) if block else budget
        number = 0
        for row in checked(rows):
            text = entry(key, number + 1, labels[row], texts[row])
            (cost,) = measure([SEPARATOR + text if number else text])
            if cost <= left:
                left -= cost
                number += 1
                packed.append((query_id, number, *sources.row(row), key, text, cost))
        if block:
            (cost,) = measure([SEPARATOR + block if number else block])
            blocks.append((query_id, None, *[None] * sources.width, key, block, cost))
    return pl.DataFrame(packed + blocks, schema=PACKED, orient="row")


def headers(labels: pl.Series, harmless: Callable[[pl.Series], list[str]]) -> list[str]:
    """Labels in the form of context headers; ``harmless`` defuses texts."""
    bare = [re.sub(r"^\[|\]$", "", label or "") for label in labels]
    return [header_label(f"[{one}]") for one in harmless(pl.Series(bare, dtype=pl.String))]


def entry(key: str, number: int, label: str, text: str) -> str:
    """A passage as a context entry, under its header."""
    return f"=== {key} {number} {label}\n{text}"


def with_texts(context: str, shown: Callable[[str, str], str]) -> str:
    """A context with ``shown(label, text)`` in place of the text of each passage.

    >>> with_texts("=== 5c1f 1 [a]\\nold\\n\\n=== 5c1f notes\\nb", lambda *_: "new")
    '=== 5c1f 1 [a]\\nnew\\n\\n=== 5c1f notes\\nb'
    """
    _, boundary, *_ = [*context.split(" ", 2), ""]
    blocks = []
    for block in re.split(rf"{SEPARATOR}(?==== {re.escape(boundary)} )", context):
        header, _, text = block.partition("\n")
        passage = re.fullmatch(r"=== \w+ \d+ (.*)", header)
        blocks.append(f"{header}\n{shown(passage[1], text)}" if passage else block)
    return SEPARATOR.join(blocks)


def compose(packed: pl.DataFrame, queries: pl.DataFrame, *, budget: int) -> pl.DataFrame:
    """``CONTEXT``: the packed entries of each of ``queries`` as one text, empty if none fits."""
    entries = packed["query_id", "boundary", "entry", "cost"].rows_by_key("query_id")
    rows = []
    for query_id in queries["query_id"].to_list():
        own = entries.get(query_id, [])
        text = SEPARATOR.join(block for _, block, _ in own)
        rows.append((query_id, text, sum(c for *_, c in own), budget, own[-1][0] if own else None))
    return pl.DataFrame(rows, schema=CONTEXT, orient="row")


def boundary(request: Sequence[str], contents: Sequence[str]) -> str:
    """Twelve hexadecimal digits, derived from ``request``, that occur in none of ``contents``."""
    tries = ("\0".join([str(attempt), *request]).encode() for attempt in itertools.count())
    keys = (hashlib.blake2b(one, digest_size=6).hexdigest() for one in tries)
    return next(key for key in keys if not any(key in content for content in contents))


def _notes(key: str, remarks: Sequence[str], budget: int, measure: Measure) -> str:
    """The block of the first notes that fit the budget."""
    for count in range(len(remarks), 0, -1):
        block = "\n".join([f"=== {key} notes", *remarks[:count]])
        if sum(measure([block])) <= budget:
            return block
    return ""

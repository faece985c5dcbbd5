"""Joins neighbouring hits into one passage, and starts passages where their section starts.

Chunks are cut for searching. A reader needs the paragraph before the step, and a page in order.
The chunks of a document have no gaps between them, so that neighbours make one text.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from operators.arrays.rows import by_rank, replaced, take

_ABOVE = re.compile(r"(.+) > .+$|([^>]+)(?:\.|::|#).+$", re.DOTALL)
"""The heading or the definition above a section or a definition."""


class _Chunk(NamedTuple):
    """A chunk of a document, at its ordinal."""

    chunk_id: int
    start: int | None
    end: int | None
    anchor: str | None
    version: str | None
    text: str
    signatures: str | None = None  # of enclosing definitions


Document: TypeAlias = Mapping[int, _Chunk]
Run: TypeAlias = tuple[int, int]
"""Consecutive chunks, by the ordinals of the first and the last."""


def whole_passages(
    ordered: pl.DataFrame,
    around: pl.DataFrame,
    *,
    longest: int,
    best: int = 0,
    grown: int = 0,
    longest_grown: int = 0,
) -> pl.DataFrame:
    """``ordered`` (``SHOWN``, by rank) with neighbouring hits of one document as one passage.

    It has the rank and the ids of the best of them, all of their text, and their lines in
    ``start_line``, ``end_line``, label and link. The first ``best`` hits of a query, which fit
    any budget, are joined at any length; others to at most ``longest`` characters.

    Hits of one section or definition are joined, also with one chunk between them. So are those of
    the best whose sections are inside one another or inside a third.

    The first ``grown`` passages of a query grow to their section or definition, up to
    ``longest_grown`` characters: first backwards under the same heading, then forwards. The
    longer the passages, the fewer fit a context. A passage that newer versions lack does not
    grow: its surroundings are outdated.

    Passages that go on in one section or definition follow one another, at the rank of the best,
    unless ``longest`` is 0: then hits stay as they are.

    A passage of code that starts inside a definition has the signatures of the enclosing
    definitions above it, and a line ``...`` between them, if no better passage has them.

    ``around`` is ``SURROUNDINGS``. The column ``parts`` contains the chunks of each passage.
    """
    ordered = by_rank(ordered)
    positions: dict[tuple[str, int], tuple[tuple[str, str], int]] = {}
    documents: dict[tuple[str, str], dict[int, _Chunk]] = defaultdict(dict)
    for corpus, key, ordinal, chunk_id, *chunk in around.iter_rows():
        positions[corpus, chunk_id] = (corpus, key), ordinal
        documents[corpus, key][ordinal] = _Chunk(chunk_id, *chunk)
    hits: dict[tuple[int, tuple[str, str]], dict[int, int]] = defaultdict(dict)
    current = ordered.select("rank", pl.col("last_version").is_null()).rows()
    most_of = [longest_grown if is_current and rank < grown else 0 for rank, is_current in current]
    first = (ordered["rank"] < best).to_list()
    for row, (query, *chunk) in enumerate(ordered["query_id", "corpus", "chunk_id"].iter_rows()):
        if at := positions.get((chunk[0], chunk[1])):
            hits[query, at[0]][at[1]] = row
    passages: dict[int, list[_Chunk]] = {}
    gone: set[int] = set()
    chains: list[list[int]] = []  # passages that go on in one section, in its order
    for (_, name), rows in hits.items():
        document = documents[name]
        most = {ordinal: most_of[row] for ordinal, row in rows.items()}
        shown = {ordinal for ordinal, row in rows.items() if first[row]}
        last = -2  # the last chunk of the passage above
        for start, end in sorted(_runs(document, most, shown, longest)):
            inside = sorted(row for ordinal, row in rows.items() if start <= ordinal <= end)
            passages[inside[0]] = [document[ordinal] for ordinal in range(start, end + 1)]
            gone.update(inside[1:])
            if longest and last == start - 1 and _goes_on(document[last], document[start]):
                chains[-1].append(inside[0])
            else:
                chains.append([inside[0]])
            last = end
    chains += [[row] for row in range(ordered.height) if row not in passages and row not in gone]
    order = [row for rows in sorted(chains, key=min) for row in rows]
    return _shown_passages(ordered, passages, order)


def _runs(document: Document, hits: Mapping[int, int], shown: set[int], longest: int) -> list[Run]:
    """The passages of a document; no chunk is in two.

    ``hits``: the ordinals of its hits, the best first, each with the maximum length of its
    growth to its section; 0: none. ``shown``: the hits that are shown in any case.
    """
    runs: list[Run] = []
    taken: set[int] = set()
    for hit, grown in hits.items():
        if hit in taken:
            continue
        first = last = hit
        length = len(document[hit].text)
        best = shown if hit in shown else frozenset[int]()
        while (near := _next(document, hits, taken, (first, last), grown > 0, best)) is not None:
            if not (hit in shown and near in shown):
                length += len(document[near].text)
            if length > (grown or longest):
                break
            first, last = min(first, near), max(last, near)
        runs.append((first, last))
        taken.update(range(first, last + 1))
    return runs


def _next(
    document: Document,
    hits: Mapping[int, int],
    taken: set[int],
    run: Run,
    grows: bool,
    best: Collection[int],
) -> int | None:
    """The next chunk that a run takes in: of its section first, and there a hit first.

    A chunk of another section only if it is one of the ``best`` hits, and of the same chapter.
    """
    first, last = run
    sides = [(first - 1, first), (last + 1, last)]
    free = [
        (near, edge)
        for near, edge in sides
        if near in document
        and near not in taken
        and document[near].version == document[edge].version  # the label contains it
    ]
    own = [near for near, edge in free if _goes_on(document[near], document[edge])]
    near_hits = [near for near in own if near in hits or _is_hole(document, hits, near)]
    others = [
        near for near, edge in free if near in best and _is_kin(document[near], document[edge])
    ]
    return next(iter([*near_hits, *(own if grows else ()), *others]), None)


def _is_hole(document: Document, hits: Mapping[int, int], ordinal: int) -> bool:
    """Whether the chunk is the only one between two hits of its section or definition."""
    return all(
        near in hits and _goes_on(document[near], document[ordinal])
        for near in (ordinal - 1, ordinal + 1)
    )


def _goes_on(one: _Chunk, two: _Chunk) -> bool:
    """Whether ``two`` is in the same section or definition as ``one``."""
    return one.anchor == two.anchor and (one.anchor is not None or one.start is not None)


def _is_kin(one: _Chunk, two: _Chunk) -> bool:
    """Whether one section or definition is inside the other, or both are inside a third."""
    a, b = one.anchor or "", two.anchor or ""
    above = [match and (match[1] or match[2]) for match in map(_ABOVE.match, (a, b))]
    return (above[0] is not None and above[0] == above[1]) or a.startswith(b) or b.startswith(a)


def _shown_passages(
    ordered: pl.DataFrame, passages: Mapping[int, Sequence[_Chunk]], order: Sequence[int]
) -> pl.DataFrame:
    columns = ("text", "start_line", "end_line", "source_label", "source_url")
    values: dict[str, list[Any]] = {name: ordered[name].to_list() for name in columns}
    parts = [[chunk_id] for chunk_id in ordered["chunk_id"].to_list()]
    # the lines of a document that a query has so far
    lines_seen: dict[tuple[int, str], set[str]] = defaultdict(set)
    of = list(zip(ordered["query_id"], ordered["document_id"], strict=True))
    for row in (row for row in order if row in passages):
        chunks = passages[row]
        if len(chunks) > 1:
            parts[row] = [chunk.chunk_id for chunk in chunks]
            old = values["start_line"][row], values["end_line"][row]
            new = chunks[0].start, chunks[-1].end
            values["text"][row] = _text([chunk.text for chunk in chunks])
            values["start_line"][row], values["end_line"][row] = new
            for name in ("source_label", "source_url"):
                values[name][row] = with_lines(values[name][row], old, new)
        above = chunks[0].signatures
        if above and not lines_seen[of[row]].issuperset(above.split("\n")):
            values["text"][row] = f"{above}\n...\n{values['text'][row]}"
        lines_seen[of[row]].update(values["text"][row].split("\n"))
    whole = replaced(
        ordered,
        *(pl.Series(name, of, ordered.schema[name]) for name, of in values.items()),
        pl.Series("parts", parts, pl.List(pl.Int64)),
    )
    ranks = pl.int_range(pl.len(), dtype=pl.UInt32).over("query_id")
    return take(whole, np.array(order, dtype=np.int64)).with_columns(rank=ranks)


def _text(parts: Sequence[str]) -> str:
    return "".join(part if part.endswith("\n") else part + "\n" for part in parts[:-1]) + parts[-1]


def with_lines(
    text: str | None, old: tuple[int | None, int | None], new: tuple[int | None, int | None]
) -> str | None:
    """A label or a link with its lines replaced, if it has lines.

    >>> with_lines("[code: a.py:5-9]", (5, 9), (1, 12)), with_lines("x#L5-L9", (5, 9), (1, 12))
    ('[code: a.py:1-12]', 'x#L1-L12')
    """
    if text is None or None in (*old, *new):
        return text
    return re.sub(rf"(?<=[:L ]){old[0]}-(L?){old[1]}(?!\d)", rf"{new[0]}-\g<1>{new[1]}", text)

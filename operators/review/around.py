"""The code around the hunks of a change, which a diff with three context lines does not show.

The lines are matched by the text of the hunk, so that a collection at another commit shows the
right ones, or none.
"""

import json
import re
from collections import defaultdict
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from operators.arrays.rows import replaced, take
from operators.context.whole_passages import with_lines
from operators.foundation.cancellation import checked
from operators.frames import DEFINES, SIGNATURES
from operators.ranking.definitions import definition_of, qualified_parts
from operators.review.changed_names import TEST_WEIGHT, code_hunks
from operators.review.changes import Change
from operators.review.patch_hunks import Hunk
from operators.signals.secondary import is_secondary

NEAR = 6
"""Lines before and after a hunk."""

LEAST = 3
"""Lines with words of a hunk that identify its place if its line number does not."""

GAP = "..."
"""The line that replaces omitted lines."""

_WORD = re.compile(r"\w")
_COLUMNS = ("text", "start_line", "end_line", "source_label", "source_url")


class _Rest(NamedTuple):
    """The lines of a passage around hunks."""

    size: float  # changed lines
    head: int | None  # the line, from 0, on which the enclosing definition begins
    head_is_shown: bool  # in the diff
    kept: list[int]  # the lines that the diff does not show


def around_hunks(change: Change, passages: pl.DataFrame) -> pl.DataFrame:
    """The passages at hunks with the nearby lines that the diff does not show.

    They end where another definition begins; omitted lines become ``...``. The first line of
    the definition that contains a hunk is above them. Hunks with most lines come first, then those
    of tests, and those in no definition (imports) last.

    Args:
        passages: columns ``SHOWN``, of the old files.
    """
    hunks = defaultdict[str, list[Hunk]](list)
    for path, hunk in code_hunks(change):
        hunks[path].append(hunk)
    entries: list[tuple[bool, float, int, tuple[Any, ...]]] = []
    for row, one in enumerate(passages.iter_rows(named=True)):
        if one["start_line"] is None or one["path"] not in hunks:
            continue
        metadata = json.loads(one["metadata"] or "{}")
        lines, above = one["text"].rstrip("\n").split("\n"), metadata.get(SIGNATURES)
        rest = _rest(hunks[one["path"]], lines, one["start_line"], metadata.get(DEFINES) or [])
        if sum(bool(_WORD.search(lines[n])) for n in rest.kept) >= LEAST:
            size = rest.size * (TEST_WEIGHT if is_secondary(one["path"]) else 1)
            is_bare = rest.head is None and above is None
            entries.append((is_bare, -size, row, _row(one, lines, rest, above)))
    entries.sort(key=lambda of: of[:3])
    rows = take(passages, np.array([row for *_, row, _ in entries], dtype=np.int64))
    columns = list(zip(*(of for *_, of in entries), strict=True)) or [()] * len(_COLUMNS)
    values = zip(_COLUMNS, columns, strict=True)
    return replaced(rows, *(pl.Series(name, of, rows.schema[name]) for name, of in values))


def _rest(hunks: list[Hunk], lines: list[str], start: int, names: list[str]) -> _Rest:
    """The lines around ``hunks``; ``names``: of the definitions that begin in the passage."""
    patterns = [definition_of(qualified_parts(name)[-1]) for name in names]
    heads = [n for n, line in enumerate(lines) if any(p.search(line) for p in patterns)]
    size, shown, near = 0.0, set[int](), set[int]()
    for hunk in checked(hunks):
        marked = [line for line in hunk.lines.split("\n") if line[:1] in ("-", " ", "+")]
        old = [line[1:].rstrip() for line in marked if line[0] != "+"]
        at = _place(old, lines, hunk.old_start - start)
        if at is None:
            continue
        end = at + len(old)
        changes = at + next((n for n, line in enumerate(marked) if line[0] != " "), 0)
        own = max((n for n in heads if n <= changes), default=0)
        following = min((n for n in heads if n >= end), default=len(lines))
        size += len(hunk.removed) + len(hunk.added)
        shown.update(range(at, end))
        near.update(range(max(at - NEAR, own), min(end + NEAR, following)))
    kept = sorted(n for n in near - shown if lines[n].strip())
    head = max((n for n in heads if kept and n <= kept[0]), default=None)
    return _Rest(size, head, head in shown, kept)


def _place(old: list[str], lines: list[str], likely: int) -> int | None:
    """The line of a passage, from 0, at which the old lines of a hunk begin; below 0: before it.

    A part of them suffices at their line number, elsewhere all of them must match.
    """
    for at in chain([likely], range(len(lines) - len(old) + 1)):
        first, last = max(at, 0), min(at + len(old), len(lines))
        if all(lines[n].rstrip() == old[n - at] for n in range(first, last)):
            matched = sum(bool(_WORD.search(line)) for line in lines[first:last])
            if matched >= (1 if at == likely else LEAST):
                return at
    return None


def _row(one: dict[str, Any], lines: list[str], rest: _Rest, above: str | None) -> tuple[Any, ...]:
    """The values of ``_COLUMNS`` for these lines of a passage."""
    before, text = rest.kept[0] - 1, [above, GAP] if above and rest.head is None else []
    if rest.head is not None and rest.head <= before and not rest.head_is_shown:
        before, text = rest.head, [lines[rest.head]]
    for n in rest.kept:
        is_next = not any(line.strip() for line in lines[before + 1 : n])
        text += lines[before + 1 : n + 1] if is_next else [GAP, lines[n]]
        before = n
    start = one["start_line"]
    old, new = (start, one["end_line"]), (start + rest.kept[0], start + rest.kept[-1])
    label, url = (with_lines(one[name], old, new) for name in ("source_label", "source_url"))
    return ("\n".join(text), *new, label, url)

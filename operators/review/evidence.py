"""Selects and orders the hits for the context of a change, each with its reason.

A reviewer's context is small: each entry shows the relevant lines and the reason for them. Lines
that the diff itself shows are left out.
"""

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from operators.arrays.rows import replaced, take
from operators.context.snippets import snippet
from operators.context.whole_passages import with_lines
from operators.foundation.cancellation import checked
from operators.frames import FILES
from operators.ranking.definitions import definition_of, qualified_parts, use_of
from operators.review.changed_names import is_bare
from operators.review.review_questions import SECTIONS
from operators.signals.secondary import is_secondary, is_test

NEAR = 10
"""The most lines between a remark and a hunk that it is about."""

PER_QUESTION = 50
"""The most entries of one query."""

MOST_DEFINED = 3
"""The most passages that define a name; a name with more is too common to tell anything.

A bare one, such as ``close``, has one: of several it does not say whose is meant."""

FLOOR = 0.5
"""The minimum score of a hit without a name, as a share of the best one of its query."""

MOST_FILES = 20
"""The most files of a commit that describes each of them; one with more moves or formats code."""

LINES = {
    "definition": 10,
    "caller": 7,
    "test": 12,
    "related": 10,
    "remark": 14,
    "commit": 8,
    "page": 8,
}
"""The lines of an entry, by section."""

TURNS = (
    *(("definition",), ("caller",), ("test",), ("related",)),
    *(("around", "page"), ("remark",), ("commit",)),
)
"""The order in which sections take turns; two of one turn alternate."""

WHY = {
    "around": "around lines that change",
    "test": "a test of the like",
    "related": "does the like",
    "page": "mentions this",
}
"""The reason for a hit without a name, by section."""

ABOVE = 6
"""The most lines between a definition and a line in it that are shown together."""

_DEFINED = re.compile(r"[^\n]*?(\w+)\s*(?:<[^<>]*>)?\s*[(:{=]")
_TOLD = re.compile(r"^(?![-+ \\]|@@).", re.MULTILINE)  # begins a line that no hunk has
_Lines = Sequence[tuple[str, int, int]]


class _Entry(NamedTuple):
    row: int  # in the frame of hits
    section: str
    why: str
    first: int  # the first line of the entry in the passage, from 0


def evidence(
    found: pl.DataFrame,
    questions: pl.DataFrame,
    touched: _Lines,
    around: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """The entries of a review's context, the most useful ones first.

    The sections take turns, so that a small budget has something of each.

    Args:
        found: columns ``SHOWN``, of all queries.
        questions: columns ``operators.review.review_questions.QUESTIONS``.
        touched: path, first and last line of each hunk in the old files.
        around: columns ``SHOWN``, the code around the hunks, the most important first.

    Returns:
        Columns ``SHOWN`` and ``section``, with the shown lines as text, label and lines; the
        label contains the reason. Each passage once. query_id is 0.
    """
    by_id = {row["query_id"]: row for row in questions.iter_rows(named=True)}
    entries: dict[str, list[list[_Entry]]] = {name: [] for name in SECTIONS}
    rows = found.with_row_index("row").sort("query_id", "rank")
    for (query_id,), of in rows.group_by("query_id", maintain_order=True):
        question = by_id[query_id]
        chosen = defaultdict[str, list[_Entry]](list)
        passages = {row["row"]: row for row in of.to_dicts()}
        for one in _chosen([*passages.values()], question, touched):
            if not _in_diff(passages[one.row], one, touched):
                chosen[one.section].append(one)
        for section, some in chosen.items():
            entries[section].append(some[:PER_QUESTION])
    if around is not None:
        numbers = range(found.height, found.height + around.height)
        entries["around"] = [[_Entry(row, "around", WHY["around"], 0) for row in numbers]]
        found = pl.concat([found, around], how="diagonal")
    taken: dict[int, _Entry] = {}
    ids = found["chunk_id"].to_list()
    turns = [[_in_turn(entries[name]) for name in turn] for turn in TURNS]
    for one in _in_turn([_in_turn(sections) for sections in turns]):
        taken.setdefault(ids[one.row], one)
    return _shown(found, list(taken.values()))


def _in_turn(lists: Sequence[Sequence[_Entry]]) -> list[_Entry]:
    """The first of each list, then the second of each, and so on."""
    longest = max(map(len, lists), default=0)
    return [of[index] for index in range(longest) for of in lists if index < len(of)]


def _chosen(rows: list[dict[str, Any]], question: dict[str, Any], touched: _Lines) -> list[_Entry]:
    purpose, about = question["purpose"], question["about"]
    best = max((row["score"] for row in rows), default=0.0)
    if purpose == "definition":
        named = [row for row in checked(rows) if definition_of(about).search(row["text"])]
        if len(named) > (1 if is_bare(about) else MOST_DEFINED):
            return []
        why = f"defines {about}, which the change uses"
        return [_Entry(row["row"], purpose, why, _line(row, about)) for row in named]
    if purpose == "caller":
        return [entry for row in checked(rows) if (entry := _caller(row, about))]
    if purpose == "test":
        rows = [row for row in rows if is_test(row["path"] or "")]
    if purpose == "related":
        rows = [row for row in rows if not is_secondary(row["path"] or "")]
    likely = [row for row in rows if row["score"] >= FLOOR * best]
    if purpose == "remark":
        likely = [row for row in likely if _says(row)]
        near = {row["row"]: _is_near(row, touched) for row in likely}
        likely.sort(key=lambda row: not near[row["row"]])
        return [_remark(row, about, near=near[row["row"]]) for row in likely]
    if purpose == "commit":
        exact = [row for row in rows if about is None or row["document_id"] == about]
        why = "a commit of the like" if about is None else "made lines that change"
        small = [row for row in exact if _files(row) <= MOST_FILES]
        return [_Entry(row["row"], purpose, why, 0) for row in small]
    return [_best_lines(row, purpose, WHY[purpose], question) for row in checked(likely)]


def _files(row: dict[str, Any]) -> int:
    return json.loads(row["metadata"] or "{}").get("files") or 0


def _in_diff(row: dict[str, Any], entry: _Entry, touched: _Lines) -> bool:
    """Whether the diff shows most lines of an entry."""
    if row["corpus"] != "code" or row["start_line"] is None:
        return False
    first = row["start_line"] + entry.first
    last = min(first + LINES[entry.section] - 1, row["end_line"])
    shown = [
        min(last, end) - max(first, start) + 1
        for path, start, end in touched
        if path == row["path"] and start <= last and end >= first
    ]
    return bool(2 * sum(shown) > last - first + 1)


def _caller(row: dict[str, Any], about: str) -> _Entry | None:
    """A use of the name ``about`` outside of its definition; one with an owner stands near it."""
    *owners, name = qualified_parts(about)
    if owners and owners[-1].lower() not in f"{row['path']}\n{row['text']}".lower():
        return None
    defining = [match.span() for match in definition_of(name).finditer(row["text"])]
    begins = [match.start() for match in re.finditer(use_of(name), row["text"])]
    uses = [at for at in begins if not any(start <= at < end for start, end in defining)]
    if not uses:
        return None
    first = _head(row, row["text"].count("\n", 0, uses[0]))
    section, why = ("test", "tests") if is_test(row["path"] or "") else ("caller", "uses")
    return _Entry(row["row"], section, f"{why} {about}, which changes", first)


def _is_near(row: dict[str, Any], touched: _Lines) -> bool:
    """Whether a remark is at a hunk."""
    line = json.loads(row["metadata"] or "{}").get("line")
    return isinstance(line, int) and any(
        row["path"] == path and start - NEAR <= line <= end + NEAR for path, start, end in touched
    )


def _says(row: dict[str, Any]) -> bool:
    """Whether a passage of a thread has more than the code that the thread is about."""
    return not row["path"] or bool(_TOLD.search(row["text"].removeprefix(row["path"])))


def _remark(row: dict[str, Any], about: str | None, *, near: bool) -> _Entry:
    metadata = json.loads(row["metadata"] or "{}")
    in_file = about is not None and row["path"] == about
    what = "these lines" if near else "this file" if in_file else "the like"
    # a review service calls a remark outdated when its line was changed afterwards
    then = ", after which the line was changed" if metadata.get("outdated") else ""
    then += ", dismissed" if metadata.get("review_state") == "dismissed" else ""
    marks = [n for n, one in enumerate(row["text"].split("\n")) if re.match("@(?!@)", one)]
    return _Entry(
        row["row"], "remark", f"a remark on {what}{then}", max(min(marks, default=0) - 3, 0)
    )


def _best_lines(row: dict[str, Any], section: str, why: str, question: dict[str, Any]) -> _Entry:
    line = snippet(row["text"], question["text"]).line
    return _Entry(row["row"], section, why, _head(row, line) if row["corpus"] == "code" else line)


def _line(row: dict[str, Any], name: str) -> int:
    """The line, from 0, on which a passage defines ``name``."""
    match = definition_of(name).search(row["text"])
    return row["text"].count("\n", 0, match.start()) if match else 0


def _head(row: dict[str, Any], line: int) -> int:
    """The first line of the definition around ``line``, if it is near; else two lines before it."""
    lines = row["text"].split("\n")
    for n in range(line, max(line - ABOVE, -1), -1):
        word = _DEFINED.match(lines[n])
        if word and definition_of(word[1]).search(lines[n]):
            return n
    near = (n for n in range(max(line - 2, 0), line) if re.search(r"\w", lines[n]))
    return next(near, line)


def _shown(hits: pl.DataFrame, entries: list[_Entry]) -> pl.DataFrame:
    """The rows of ``entries``, each with its shown lines."""
    rows = take(hits, np.array([one.row for one in entries], dtype=np.int64))
    columns = ("text", "start_line", "end_line", "source_label", "source_url")
    values = {name: rows[name].to_list() for name in columns}
    for index, one in enumerate(checked(entries)):
        text, start, end, label, url = (values[name][index] for name in columns)
        lines = text.rstrip("\n").split("\n")
        first = min(one.first, max(len(lines) - 1, 0))
        most = LINES.get(one.section, len(lines))
        shown = lines[first : first + most]
        if one.section == "commit" and FILES in shown:
            shown = shown[: shown.index(FILES)]
        shown = "\n".join(shown).rstrip().split("\n")
        old, new = (start, end), (start, end)
        if start is not None and one.section != "around":
            new = (start + first, start + first + len(shown) - 1)
        label = with_lines(label, old, new) or "[]"
        entry = ("\n".join(shown), *new, f"{label[:-1]}; {one.why}]", with_lines(url, old, new))
        for name, value in zip(columns, entry, strict=True):
            values[name][index] = value
    return replaced(
        rows,
        *(pl.Series(name, of, rows.schema[name]) for name, of in values.items()),
        pl.Series("rank", range(len(entries)), pl.UInt32),
        pl.Series("query_id", [0] * len(entries), pl.UInt32),
        pl.Series("section", [one.section for one in entries], pl.String),
    )


def by_section(entries: pl.DataFrame, chunk_ids: pl.Series) -> pl.DataFrame:
    """The rows of ``entries`` (of :func:`evidence`) with these ids, grouped by section.

    Without the column ``section``; ranks are assigned again.
    """
    order = pl.col("section").replace_strict(dict(zip(SECTIONS, range(len(SECTIONS)), strict=True)))
    kept = entries.filter(pl.col("chunk_id").is_in(chunk_ids.to_list())).sort(order, "rank")
    return kept.drop("section").with_columns(rank=pl.int_range(pl.len(), dtype=pl.UInt32))

"""The queries that changed most, with both lists of documents side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from operators.errors import counted
from operators.report.page import Html, element, join

_SUMMARY, _TEXT = 105, 700


def changed_body(
    changed: pl.DataFrame, qrels: pl.DataFrame, baseline: str, titles: Mapping[str, str]
) -> Html:
    """A collapsible block for every query of ``changed`` (``CHANGED``); the first is open.

    ``baseline`` produced the lists before; ``titles`` are those of documents, by id, where known.
    """
    wanted = qrels.join(changed.select("query_id").unique(), on="query_id", how="semi")
    grades = {(q, d): grade for q, d, grade in wanted.iter_rows()}
    note = (
        "The queries whose score moved most, with the first ten documents of both lists; those "
        "judged relevant are shaded."
    )
    parts = [element("p", note, class_="note")]
    for (config,), group in changed.group_by("config", maintain_order=True):
        parts.append(element("h3", f"{config} against {baseline}"))
        for row in group.iter_rows(named=True):
            parts.append(_fold(row, grades, baseline, titles, opened=len(parts) == 2))
    return join(parts)


def _fold(
    row: Mapping[str, Any],
    grades: Mapping[tuple[str, str], int],
    baseline: str,
    titles: Mapping[str, str],
    *,
    opened: bool,
) -> Html:
    difference = row["after"] - row["before"]
    kind = "gain" if difference > 0 else "loss"
    text, before, after = row["text"], row["before_list"], row["after_list"]
    shown = text if len(text) <= _TEXT else f"{text[:_TEXT].rstrip()} …"
    judged = {doc: grade for (query, doc), grade in grades.items() if query == row["query_id"]}
    relevant = sum(1 for grade in judged.values() if grade > 0)
    numbers = (
        f"{row['query_id']}: {row['before']:.3f} before, {row['after']:.3f} after; "
        f"{counted(relevant, 'relevant document')} in all"
    )
    lists = element(
        "div",
        _documents(baseline, before, after, judged, titles, gone="gone", kept="now {}"),
        _documents(row["config"], after, before, judged, titles, gone="new", kept="was {}"),
        class_="grid",
    )
    return element(
        "details",
        element(
            "summary",
            element("span", f"{difference:+.2f}", class_=f"{kind} change"),
            " ",
            _shortened(text or row["query_id"]),
        ),
        element("blockquote", shown),
        element("p", numbers, class_="note"),
        lists,
        open=opened,
    )


def _documents(
    name: str,
    listed: Sequence[str],
    others: Sequence[str],
    grades: Mapping[str, int],
    titles: Mapping[str, str],
    *,
    gone: str,
    kept: str,
) -> Html:
    """One list; each document with its title, its relevance and its rank in the other list."""
    graded = len({grade for grade in grades.values() if grade > 0}) > 1
    positions = {document: position for position, document in enumerate(others, 1)}
    items = []
    for position, document in enumerate(listed, 1):
        grade = grades.get(document, 0)
        marks = []
        if grade > 0:
            how = f"relevant, grade {grade}" if graded else "relevant"
            marks.append(element("span", how, class_="relevant"))
        other = positions.get(document)
        if other != position:
            moved = gone if other is None else kept.format(other)
            marks.append(element("span", moved, class_="quiet"))
        items.append(
            element(
                "li",
                element("span", document, class_="id"),
                f" {_shortened(titles.get(document, ''))}",
                *(join([" ", mark]) for mark in marks),
                class_="hit" if grade > 0 else None,
            )
        )
    body = element("ol", *items) if items else element("p", "no document", class_="note")
    return element("div", element("h4", name), body)


def _shortened(text: str) -> str:
    """``text`` on one line, with an ellipsis if it is cut."""
    line = " ".join(text.split())
    return line if len(line) <= _SUMMARY else f"{line[: _SUMMARY - 1]}…"

"""The queries of a review: one for each thing that its reviewer looks up.

Each query is for one section of the context and about one name, file or commit. The corpora are
searched as of the base of the change.
"""

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import polars as pl

from operators.errors import CrosscorpusError
from operators.frames import UTC
from operators.question.read_options import check_texts
from operators.review.changes import Change
from operators.review.patch_hunks import Hunk

SECTIONS = ("definition", "caller", "around", "test", "related", "remark", "commit", "page")
"""The sections of a review's context, in its order."""

PURPOSES = {
    "touched": ("code",),  # the passages around the hunks, in the old files
    "definition": ("code",),
    "caller": ("code",),
    "test": ("code",),
    "related": ("code",),
    "remark": ("review",),
    "commit": ("history",),
    "page": ("docs", "wiki", "issue"),
}
"""The purposes of the queries, with the corpora to search."""

QUESTIONS = pl.Schema(
    {
        "query_id": pl.UInt32(),
        "purpose": pl.String(),  # a key of PURPOSES
        "about": pl.String(),  # the name, path or commit of the query; null: the change
        "text": pl.String(),
        "corpora": pl.List(pl.String),
        "repos": pl.List(pl.String),  # null: all
        **dict.fromkeys(("path_prefix", "symbol", "uses"), pl.String()),
        "as_of": UTC,
    }
)

MOST_FILES = 8
"""The most files of a change with a query, those with most changed lines."""

MOST_COMMITS = 6
"""The most commits with a query, those that made most of the changed lines."""

MOST_CHANGED = 6
"""The most changed names with a query."""

MOST_USED = 16
"""The most names used by new lines with a query."""

LONGEST = 2_000
"""The longest query, in characters."""


def hunk_questions(change: Change, corpora: Collection[str], repo: str | None) -> pl.DataFrame:
    """The queries for the passages around the hunks: ``QUESTIONS`` of the purpose ``touched``."""
    rows = []
    for path in _old_files(change):
        lines = [hunk.old_start for hunk in _hunks_of(change, path)]
        text = " ".join(f"{path}:{line}" for line in lines[:MOST_FILES])
        rows.append({"purpose": "touched", "about": path, "text": text, "path_prefix": path})
    return _frame(rows, corpora, repo, None)


def change_questions(
    change: Change,
    changed: Sequence[str],
    used: Sequence[str],
    commits: Sequence[str],
    corpora: Collection[str],
    *,
    repo: str | None,
    as_of: datetime | None,
    title: str | None,
    description: str | None,
) -> pl.DataFrame:
    """The queries for everything else: ``QUESTIONS``.

    Args:
        changed, used: names, as :mod:`operators.review.changed_names` returns them.
        commits: ids of those that made the touched lines, the most important first.
        corpora: those that can be searched.
        repo: of the change; None: not known. Only pages may be of another repository.
        as_of: excludes newer documents, but not code: its date is that of a file's last commit.
        title, description: of the change.
    """
    desc = " ".join(filter(None, (title, description)))
    rows: list[dict[str, Any]] = [
        {"purpose": "definition", "about": name, "text": name, "symbol": name}
        for name in used[:MOST_USED]
    ]
    rows += [
        {"purpose": "caller", "about": name, "text": f"{name} {title or ''}", "uses": name}
        for name in changed[:MOST_CHANGED]
    ]
    names = " ".join(changed[:MOST_CHANGED])
    lines = " ".join(_new_text(change, path) for path in _old_files(change))
    for path in _old_files(change):
        text = f"{path} {desc} {_new_text(change, path)}"
        rows.append({"purpose": "remark", "about": path, "text": text, "path_prefix": path})
    rows += [{"purpose": "commit", "about": one, "text": one} for one in commits[:MOST_COMMITS]]
    text = f"{desc} {names} {lines}"
    if not re.search(r"[^\W\d_]{3}", text):  # numbers alone match anything
        return _frame(rows, corpora, repo, as_of)
    rows.append({"purpose": "related", "text": text})
    rows.append({"purpose": "test", "text": f"test {text}"})
    rows.append({"purpose": "remark", "text": f"{desc} {names}"})
    if not commits:  # without a repository it is not known which
        rows += [{"purpose": "commit", "text": f"{path} {desc}"} for path in _old_files(change)[:3]]
    rows.append({"purpose": "page", "text": text})
    return _frame(rows, corpora, repo, as_of)


def _frame(
    rows: Sequence[dict[str, Any]],
    corpora: Collection[str],
    repo: str | None,
    as_of: datetime | None,
) -> pl.DataFrame:
    questions: list[dict[str, Any]] = []
    for row in rows:
        within = [one for one in PURPOSES[row["purpose"]] if one in corpora]
        text = row["text"].strip()[:LONGEST]
        if within and text and _is_searchable(row):
            asks_code = "code" in within
            more = {"corpora": within, "as_of": None if asks_code else as_of, "text": text}
            repos = None if repo is None or row["purpose"] == "page" else [repo]
            questions.append({"query_id": len(questions), "repos": repos, **row, **more})
    return pl.DataFrame(questions, schema=QUESTIONS, orient="row")


def _is_searchable(row: dict[str, Any]) -> bool:
    """Whether the filters of a query are within the limits; a patch may have any path or name."""
    try:
        for name in ("path_prefix", "symbol", "uses"):
            check_texts(name, row.get(name))
    except CrosscorpusError:
        return False
    return True


def _old_files(change: Change) -> list[str]:
    """The paths of the changed files before the change, those with most changed lines first."""
    lines = {
        file.old_path: sum(len(hunk.removed) + len(hunk.added) for hunk in file.hunks)
        for file in change.files
        if file.old_path is not None and file.hunks
    }
    return sorted(lines, key=lambda path: (-lines[path], path))[:MOST_FILES]


def _hunks_of(change: Change, path: str) -> list[Hunk]:
    return [hunk for file in change.files if file.old_path == path for hunk in file.hunks]


def _new_text(change: Change, path: str) -> str:
    return " ".join(line.strip() for h in _hunks_of(change, path) for _, line in h.added)

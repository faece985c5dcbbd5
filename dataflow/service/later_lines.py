"""Where lines of code in an answer have changed since the page or the commit beside them.

Documentation that the code contradicts looks like evidence. Only git knows when single lines
changed: without a working tree at hand, and for a caller with rights, nothing is said.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import polars as pl

from dataflow.service.file_changes import trees_of
from operators.foundation.escape import label_text
from operators.frames import CHANGED_PATHS
from operators.postgres.store import Home
from operators.sources.git.git_process import GitError, git_output

FIRST = 3
"""The results that are compared with each other: a line for all of ten would be noise."""

SECONDS = 0.3
"""Without a word from git, after which nothing is said: 5 to 40 ms for 4,393 commits."""


def later_lines(homes: Mapping[str, Home], results: pl.DataFrame) -> list[str]:
    """A note for each code among the first ``results`` (``SHOWN``, of one question) that is newer.

    It names the newest commit that changed its lines, and the page or the commit before that. A
    commit counts beside code whose file it changed.
    """
    shown = results.head(FIRST).to_dicts()
    notes = []
    for code in shown:
        older = next((row for row in shown if _is_older(row, code)), None)
        if older is not None and (changed := _changed_since(homes, code, older["created_at"])):
            lines = f"{code['path']}:{code['start_line']}-{code['end_line']}"
            since = label_text(older["path"] or older["document_id"][:10])
            before = f"{since} ({older['created_at']:%Y-%m-%d})"
            notes.append(f"{label_text(lines)} changed by {changed}, after {before}")
    return notes


def _is_older(row: Mapping[str, Any], code: Mapping[str, Any]) -> bool:
    """Whether ``row`` is a page, or a commit of the file, from before the file's last commit."""
    if code["corpus"] != "code" or code["start_line"] is None or row["repo"] != code["repo"]:
        return False
    changed = json.loads(row["metadata"] or "{}").get(CHANGED_PATHS)  # a document may say anything
    is_of_file = isinstance(changed, list) and code["path"] in changed
    is_beside = row["corpus"] in ("docs", "wiki") or is_of_file
    dates = (row["created_at"], code["created_at"])
    return is_beside and None not in dates and dates[0] < dates[1]


def _changed_since(homes: Mapping[str, Home], code: Mapping[str, Any], since: datetime) -> str:
    """The newest commit later than ``since`` of the code's lines, with its date; empty: none."""
    lines = f"-L{code['start_line']},{code['end_line']}"
    how = ("-s", "-l", f"--since={int(since.timestamp()) + 1}", lines)
    for folder, at in trees_of(homes, code["repo"]):
        with suppress(GitError, OSError):  # such as a folder that is not ours to enter
            blamed = git_output(folder, "blame", *how, at, "--", code["path"], silence=SECONDS)
            # a line that is older has a commit with a ^
            commits = {line.split(" ", 1)[0] for line in blamed.splitlines() if line[0] != "^"}
            if commits:
                newest = ("-s", "--no-walk=sorted", "--format=%H %ct", *sorted(commits))
                commit, seconds = git_output(folder, "log", *newest, silence=SECONDS).split()[:2]
                return f"{commit[:10]} ({datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%d})"
    return ""

"""AACR-Bench's pull requests as changes of a clone, and where their remarks stand before them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.review import Judged, git
from operators.review.changes import ChangedFile, read_change

LEVELS = ("Repo Level", "File Level")
"""What a remark needs beyond its diff, as AACR-Bench says."""

LONGEST = 400_000
"""Bytes of a patch; one that is longer moves or generates files."""

_NUMBER = re.compile(r"\(#(\d+)\)$|^Merge pull request #(\d+) ")


class Remark(NamedTuple):
    """What a reviewer wrote, and its lines in the old file; no ``path``: the file is new."""

    level: str
    note: str
    path: str | None
    first: int
    last: int


class Pull(NamedTuple):
    """A pull request: its number, its change, and the remarks on it."""

    number: str
    change: Judged
    remarks: list[Remark]


def repositories(file: Path, only: list[str] | None) -> dict[str, list[dict[str, Any]]]:
    """The rows of each repository by its address, those of ``only``."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in json.loads(file.read_text("utf-8")):
        url = row["githubPrUrl"].partition("/pull/")[0]
        if not only or url.rpartition("/")[2] in only:
            rows.setdefault(url, []).append(row)
    return rows


def pulls(cloned: Path, rows: Iterable[dict[str, Any]]) -> Iterator[Pull]:
    """The pull requests with remarks of ``LEVELS`` whose change the clone has.

    That is their last commit (``target_commit``) against where it branched off. Of a branch that
    was deleted after a squash it is what was merged under the number, which may differ a little.
    """
    merged = _merged(cloned)
    for row in rows:
        number = row["githubPrUrl"].rpartition("/")[2]
        ends = [row["source_commit"], row["target_commit"]]
        base, merge = merged.get(number, ("", ""))
        head = merge
        if all(_has(cloned, commit) for commit in ends):
            base, head = git(cloned, "merge-base", *ends).decode().strip(), ends[1]
        patch = git(cloned, "diff-tree", "-p", "-r", "-M", base, head) if base else b""
        if not 0 < len(patch) <= LONGEST:
            continue
        files = {file.path: file for file in read_change(patch).files}
        remarks = [_remark(one, files) for one in row["comments"] if one["context"] in LEVELS]
        if remarks:
            title = _title(cloned, merge or head) or _title(cloned, head)
            yield Pull(number, Judged(head, base, title, patch, []), remarks)


def _merged(cloned: Path) -> dict[str, tuple[str, str]]:
    """By the number of a pull request the commit before it and the one that merged it."""
    merged = {}
    log = git(cloned, "log", "--format=%H%x09%P%x09%s").decode("utf-8", "replace")
    for line in log.split("\n")[:-1]:
        commit, parents, subject = line.split("\t", 2)
        if parents and (number := _NUMBER.search(subject)):
            merged[number[1] or number[2]] = (parents.split()[0], commit)
    return merged


def _has(cloned: Path, commit: str) -> bool:
    command = ["git", "-C", str(cloned), "cat-file", "-e", f"{commit}^{{commit}}"]
    return not subprocess.run(command, capture_output=True, check=False).returncode


def _title(cloned: Path, commit: str) -> str:
    """What a commit says that it does, or the pull request that it merges."""
    lines = git(cloned, "show", "-s", "--format=%B", commit).decode("utf-8", "replace").split("\n")
    if lines[0].startswith("Merge pull request"):
        lines = [*filter(str.strip, lines[1:]), ""]
    return _NUMBER.sub("", lines[0]).strip()


def _remark(row: dict[str, Any], files: dict[str, ChangedFile]) -> Remark:
    file = files.get(row["path"])
    lines = [row["from_line"], row["to_line"]]
    if file is not None and row["side"] == "right":
        lines = [_old_line(file, line) for line in lines]
    return Remark(row["context"], row["note"], file and file.old_path, *lines)


def _old_line(file: ChangedFile, line: int) -> int:
    """Where a line of the new file stands in the old one, or the nearest line there."""
    moved = 0
    for hunk in file.hunks:
        if line < hunk.new_start:
            break
        if line < hunk.new_start + hunk.new_count:
            return hunk.old_start + min(line - hunk.new_start, max(hunk.old_count - 1, 0))
        moved = hunk.old_start + hunk.old_count - hunk.new_start - hunk.new_count
    return line + moved

"""The changes of each commit as text: the functions of its hunks, lines removed and added.

One git process yields the diffs of all commits. A merge has none, as its commits have theirs. For a
rename, only the changes of the content count.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import IO

from operators.foundation.sanitize import clean_text
from operators.sources.formats.languages import is_generated
from operators.sources.git.commit_log import Commit
from operators.sources.git.git_process import git_stream
from operators.sources.git.repository import Repository
from operators.sources.jsonl import bounded_lines

MAX_DIFF = 4000
"""Characters of a commit's diff; a hunk that would make it longer is left out whole."""

_VENDORED = re.compile(r"(^|/)(_?vendor(ed)?|third[_-]party|node_modules)/")
PATCH_OPTIONS = (
    "--patch", "--diff-algorithm=myers", "--inter-hunk-context=0", "--src-prefix=a/",
    "--dst-prefix=b/", "--no-relative", "--find-renames",
    "-l400",  # 400 files at most are compared for a rename
)  # fmt: skip
"""How git writes a patch, whatever is configured."""

_LOG = (
    "log", "--date-order", "--format=%x00%H", "--no-notes", "--no-decorate", "--no-diff-merges",
    *PATCH_OPTIONS, "--unified=0",
)  # fmt: skip


def with_diffs(repository: Repository, commits: Iterable[Commit]) -> Iterator[Commit]:
    """``commits``, as ``read_commits`` gives all of them, each with its ``diff``."""
    with git_stream(repository.root, *_LOG, repository.head, "--") as stream:
        # where there are fewer diffs, git says why as the stream ends
        for (of, diff), commit in zip(parse_diffs(stream), commits, strict=False):
            assert commit.commit == of
            yield replace(commit, diff=diff)


def parse_diffs(stream: IO[bytes]) -> Iterator[tuple[str, str]]:
    """The id and the diff of each commit, from patches below lines of NUL and an id.

    A hunk is ``@@ path function`` and its lines. Each begins with one of ``+-\\``, so that nothing
    in a file can be taken for structure.
    """
    commit, path, diff = "", "", ""
    hunk: str | None = None  # None: not in a hunk, or in one that is left out
    head = False
    for line in bounded_lines(stream, 8 * MAX_DIFF):  # longer than a whole diff may be
        if line[:1] in b"+-" and not head:
            if hunk is not None:
                hunk += _text(line) + "\n"
                hunk = hunk if len(diff) + len(hunk) <= MAX_DIFF else None
            continue
        if line[:1] in b"\0d@":
            diff, hunk = diff + (hunk or ""), None
        if line.startswith(b"\0"):
            if commit:
                yield commit, diff
            commit, diff = line[1:].decode().strip(), ""
        elif line.startswith(b"diff "):
            head, path = True, ""
        elif line.startswith((b"--- ", b"+++ ")) and b"/dev/null" not in line:
            path = _text(line[4:]).strip('\t"')[2:]
        elif line.startswith(b"@@ "):
            head = False
            if not is_generated(path) and not _VENDORED.search(path):
                hunk = f"@@ {path} {_text(line.split(b'@@', 2)[2]).strip()}".rstrip() + "\n"
    if commit:
        yield commit, diff + (hunk or "")


def _text(line: bytes) -> str:
    return clean_text(line.decode("utf-8", "replace")).rstrip("\r\n")

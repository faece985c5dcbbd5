"""A change's facts in git besides its patch: its start, its messages, the authors of its lines."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from operators.sources.git.git_process import GitError, git_output

MOST_PLACES = 20
"""Maximum hunks of a change whose lines are blamed."""

MOST_MESSAGES = 20
"""Commits of a change whose messages count, the oldest."""

_BLAME = ("blame", "-s", "-l", "--root")


def committed_at(root: Path, commit: str) -> datetime:
    """When a commit was made."""
    output = git_output(root, "show", "-s", "--format=%cI", commit)
    return datetime.fromisoformat(output.splitlines()[0])


def messages(root: Path, commits: Sequence[str]) -> list[str]:
    """The messages of ``commits`` (newest first), oldest first."""
    oldest = list(reversed(commits))[:MOST_MESSAGES]
    return [git_output(root, "show", "-s", "--format=%B", one).strip() for one in oldest]


def line_commits(root: Path, base: str, places: Iterable[tuple[str, int, int]]) -> list[str]:
    """The ids of the commits that last changed lines, those that made most of them first.

    A file that ``base`` lacks, or that git cannot read, is ignored.

    Args:
        root: the top folder of the working tree.
        base: the commit at which the lines have their numbers.
        places: path, first and last line, from 1; the first ``MOST_PLACES`` count.
    """
    counted: Counter[str] = Counter()
    for path, first, last in list(places)[:MOST_PLACES]:
        lines = f"{max(first, 1)},{max(last, 1)}"
        try:
            output = git_output(root, *_BLAME, "-L", lines, base, "--", path)
        except GitError:
            continue
        counted.update(line.split(" ", 1)[0] for line in output.splitlines())
    return [commit for commit, _ in sorted(counted.items(), key=lambda of: (-of[1], of[0]))]

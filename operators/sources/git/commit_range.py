"""The change between two commits of a repository, as a patch."""

import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from operators.sources.git.commit_diffs import PATCH_OPTIONS
from operators.sources.git.repository import GitError, git_output, git_stream, open_repository

MAX_PATCH = 32_000_000
"""Bytes of a patch; what follows is left out. Of a file over 1 MB git shows no lines."""

LONGEST_S = 60.0
"""Seconds that git may take for a patch."""

MAX_COMMITS = 1000
"""Commits of a range that are named, the newest."""

_DIFF = (
    "-c", "core.bigFileThreshold=1m",
    "diff-tree", "-r", *PATCH_OPTIONS, "--unified=3", "--ignore-submodules=none",
)  # fmt: skip
_READ_SIZE = 1 << 16


class CommitRange(NamedTuple):
    """The change between two commits.

    ``base``, ``head``: the ids of the two commits that are compared; ``base`` may be the merge base
    of the named ones. ``commits``: the ids of those from ``head`` on that the named base lacks,
    newest first. ``patch``: a diff of git. ``note``: what was left out of it; None: nothing.
    """

    base: str
    head: str
    commits: tuple[str, ...]
    patch: bytes
    note: str | None


def change_between(
    repository: Path | str, base: str, head: str = "HEAD", *, from_merge_base: bool = False
) -> CommitRange:
    """What ``base..head`` changes in the working tree's repository at ``repository``.

    Renames are found. No diff program, text conversion or pager of the repository runs.

    Args:
        repository: the top folder of the working tree.
        base: a commit, as git takes its name.
        head: as ``base``.
        from_merge_base: compare with the commit at which ``head`` left ``base``: ``base...head``.

    Raises:
        GitError: ``repository`` is none or is not trusted; it lacks a commit; the range is empty;
            git takes longer than ``LONGEST_S`` seconds.
    """
    root = open_repository(repository).root
    named, tip = _commit(root, base), _commit(root, head)
    shown = f"{base}{'...' if from_merge_base else '..'}{head}"
    start = _merge_base(root, named, tip, shown) if from_merge_base else named
    newest = f"--max-count={MAX_COMMITS}"
    commits = tuple(git_output(root, "rev-list", newest, tip, f"^{named}", "--").split())
    if not commits:
        raise GitError(f"{shown} is empty: {head} has no commit that {base} lacks; swap the two?")
    patch, note = _patch(root, start, tip)
    if not patch:
        raise GitError(f"{shown} changes no file: the files of both commits are the same")
    return CommitRange(start, tip, commits, patch, note)


def _commit(root: Path, name: str) -> str:
    try:
        if "\0" in name:
            raise GitError("a name has no NUL")
        asked = ("--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return git_output(root, "rev-parse", *asked)
    except GitError:
        raise GitError(
            f"{root} has no commit {name!r}: give a branch, a tag or the id of a commit, "
            "or run git fetch first"
        ) from None


def _merge_base(root: Path, base: str, head: str, shown: str) -> str:
    try:
        return git_output(root, "merge-base", base, head)
    except GitError:
        raise GitError(
            f"{shown}: the two have no common commit; give the range with two dots, "
            "or fetch the whole history of a shallow clone (git fetch --unshallow)"
        ) from None


def _patch(root: Path, base: str, head: str) -> tuple[bytes, str | None]:
    """The patch, cut before the first file that would make it too long; a note where it is cut."""
    patch = bytearray()
    end = time.monotonic() + LONGEST_S
    with closing(_blocks(root, base, head)) as blocks:
        for block in blocks:
            patch += block
            if time.monotonic() > end:
                raise GitError(
                    f"git took longer than {LONGEST_S:.0f} seconds for the changes of {root}; "
                    "give a smaller range"
                )
            if len(patch) > MAX_PATCH:
                cut = patch.rfind(b"\ndiff --git ", 0, MAX_PATCH) + 1 or MAX_PATCH
                return bytes(patch[:cut]), f"the patch was cut after {cut} bytes"
    return bytes(patch), None


def _blocks(root: Path, base: str, head: str) -> Generator[bytes]:
    with git_stream(root, *_DIFF, base, head, "--", silence=LONGEST_S) as stream:
        while block := stream.read(_READ_SIZE):
            yield block

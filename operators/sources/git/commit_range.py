"""The change between two commits of a repository, as a patch."""

from collections.abc import Generator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from operators.foundation.sanitize import clean_text
from operators.sources.git.commit_diffs import PATCH_OPTIONS
from operators.sources.git.git_process import GitError, git_output, git_stream
from operators.sources.git.repository import cut_commits, open_repository

MAX_PATCH = 32_000_000
"""Bytes of a patch; what follows is left out. Of a file over 1 MB git shows no lines."""

SILENCE = 60.0
"""Timeout in seconds of git for the changes of one file."""

_LONGEST = 1000  # characters of a commit's name
_DIFF = (
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


def change_between(repository: Path | str, named: str) -> CommitRange:
    """What a range of commits changes in the working tree's repository at ``repository``.

    Renames are found. No diff program, text conversion or pager of the repository runs.

    Args:
        repository: the top folder of the working tree.
        named: ``BASE..HEAD``, or ``BASE...HEAD`` to compare with the commit at which ``HEAD`` left
            ``BASE``; each a commit as git takes its name, and ``HEAD`` where it is empty.

    Raises:
        GitError: ``repository`` is none or is not trusted; ``named`` is no range; the repository
            lacks a commit; the range is empty; git says nothing for ``SILENCE`` seconds.
    """
    root = open_repository(repository).root
    dots = "..." if "..." in named else ".."
    names = named.split(dots)
    if len(names) != 2 or names == ["", ""]:
        raise GitError(f"{_shown(named)} is no range of commits; give BASE..HEAD")
    base, head = (_commit(root, name or "HEAD") for name in names)
    commits = tuple(git_output(root, "rev-list", head, f"^{base}", "--").split())
    if not commits:
        raise GitError(
            f"{_shown(named)} is empty: the second commit has none that the first lacks; "
            "swap the two?"
        )
    if dots == "...":
        base = _merge_base(root, base, head, named)
    patch, note = _patch(root, base, head)
    if not patch:
        raise GitError(f"{_shown(named)} changes no file: give another range")
    return CommitRange(base, head, commits, patch, note)


def _commit(root: Path, name: str) -> str:
    fetch = "git fetch --unshallow" if cut_commits(root) else "git fetch"
    unknown = GitError(
        f"{root} has no commit {_shown(name)}: give a branch, a tag or the id of a commit, "
        f"or run {fetch} first"
    )
    if name.startswith("^") or len(name) > _LONGEST or clean_text(name) != name:
        raise unknown
    arguments = ("--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    try:
        return git_output(root, "rev-parse", *arguments)
    except GitError:
        raise unknown from None


def has_ancestor(root: Path, commit: str, ancestor: str) -> bool:
    """Whether the clone at ``root`` has ``commit``, and ``ancestor`` is it or one before it."""
    with suppress(GitError):
        return git_output(root, "merge-base", ancestor, commit) == ancestor
    return False


def _merge_base(root: Path, base: str, head: str, named: str) -> str:
    try:
        return git_output(root, "merge-base", base, head)
    except GitError:
        raise GitError(
            f"{_shown(named)}: the two have no common commit; give the range with two dots, "
            "or fetch the whole history of a shallow clone (git fetch --unshallow)"
        ) from None


def _patch(root: Path, base: str, head: str) -> tuple[bytes, str | None]:
    """The patch, cut before the first file that would make it too long; a note where it is cut."""
    patch = bytearray()
    with closing(_blocks(root, base, head)) as blocks:
        for block in blocks:
            patch += block
            if len(patch) > MAX_PATCH:
                cut = patch.rfind(b"\ndiff --git ", 0, MAX_PATCH) + 1 or MAX_PATCH
                return bytes(patch[:cut]), f"the patch was cut after {cut} bytes"
    return bytes(patch), None


def _blocks(root: Path, base: str, head: str) -> Generator[bytes]:
    with git_stream(root, *_DIFF, base, head, "--", silence=SILENCE) as stream:
        while block := stream.read(_READ_SIZE):
            yield block


def _shown(name: str) -> str:
    return repr(name[:100])

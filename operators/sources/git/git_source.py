"""A git working tree as three corpora: its sources, its history, its documents."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from operators.foundation.disk_dict import DiskDict
from operators.sources.also import Also, also_read
from operators.sources.git.commit_diffs import with_diffs
from operators.sources.git.commit_log import (
    Commit,
    LastCommit,
    each_once,
    history_document,
    read_commits,
    remember_last_commit,
)
from operators.sources.git.git_process import git_output
from operators.sources.git.repository import Repository, cut_commits, open_repository
from operators.sources.git.tracked_files import read_tree, tracked_files, tracked_names
from operators.sources.ignore_file import without_ignored
from operators.sources.protocol import Item, Key, ReadIssue, Source

READER = "git/4"
HISTORY = "history"
CORPORA = ("code", HISTORY, "docs")

_SHALLOW = "a shallow clone has no older commits and few dates: git fetch --unshallow brings them"

_PER_FILE = 10
"""Commits that a file counts for in the progress."""


@dataclass
class _Walk:
    """The scans of one working tree; the last has read ``done / found`` of it, in commits."""

    repository: Repository
    diffs: bool
    also: Also
    done: int = 0
    found: int = 1

    def items(self) -> Iterator[Item]:
        """The commits, then the files."""
        repository = self.repository
        with (
            closing(tracked_files(repository)) as tracked,
            closing(DiskDict[LastCommit]()) as last,
            closing(DiskDict[Commit]()) as merges,
        ):
            if cuts := cut_commits(repository.root):
                yield ReadIssue(HISTORY, _SHALLOW, failed=False)
            commits = int(git_output(repository.root, "rev-list", "--count", repository.head))
            self.done, self.found = 0, commits + _PER_FILE * len(tracked)
            on_file = partial(remember_last_commit, tracked, last, cuts=cuts)
            log = read_commits(repository, on_file, tracked)
            log = with_diffs(repository, log) if self.diffs else log
            for commit in each_once(log, merges):
                self.done += 1
                yield history_document(repository, commit, cut=commit.commit in cuts)
            for item in read_tree(repository, tracked, last, self.also):
                self.done += _PER_FILE
                yield item
            self.done = self.found


def git_source(
    path: Path | str,
    repo: str | None = None,
    *,
    exclude: Sequence[str] = (),
    diffs: bool | None = None,
    also: Sequence[str] | None = None,
) -> Source:
    """The working tree at ``path``: sources as ``code``, commits as ``history``, prose as ``docs``.

    Commits come first, newest first, then merges that say what no commit does; other merges are
    left out (:func:`~operators.sources.git.commit_log.each_once`). The same pass over the log
    determines the last commit of every file, which gives the file its date and its link. That
    commit stays the same while the file does: a new commit changes only the documents that it
    touched. Git records deletions: a path that its index lacks and a commit that the history lacks
    are deleted, however many they are. A file that the index has but the folder lacks may be in a
    folder that is not mounted.

    Args:
        path: the top folder of a working tree.
        repo: the name to store it under, instead of ``owner/name`` of ``origin``.
        exclude: files to leave out, each a pattern of gitignore. Commits stay, whatever they touch.
        diffs: each commit includes its changes, at most ``commit_diffs.MAX_DIFF`` characters;
            None: as in the last run into the same collection, at first not.
        also: further endings to read, each ``.ENDING`` or ``.ENDING=KIND``, besides those of
            earlier runs; a single empty one drops those.

    Raises:
        GitError: not such a folder, no commits, or git is missing.
        SourceError, UnknownName: as :func:`~operators.sources.also.also_read` and
            :func:`~operators.sources.ignore_file.without_ignored`.
    """
    repository = open_repository(path, repo)
    exclude = (exclude,) if isinstance(exclude, str) else tuple(exclude)
    endings = also_read([one for one in also or () if one])
    walk = _Walk(repository, bool(diffs), endings)

    def left_out(key: Key) -> bool:
        if key[0] == HISTORY:
            return is_no_change(key[2])
        names = tracked()
        return names is not None and key[2] not in names

    @cache
    def tracked() -> frozenset[str] | None:
        return tracked_names(repository.root)

    @cache
    def commits(which: str) -> frozenset[str]:
        return frozenset(git_output(repository.root, "rev-list", which, repository.head).split())

    def is_no_change(commit: str) -> bool:
        """Whether the history has no such commit, or has it as a merge.

        A shallow clone does not know of the commits that it lacks.
        """
        if cut_commits(repository.root):
            return commit in commits("--merges")
        return commit not in commits("--no-merges")

    scopes = tuple((corpus, repository.name) for corpus in CORPORA)
    source = Source(
        f"{READER}+diffs" if diffs else READER,
        walk.items,
        scopes,
        lambda: walk.done / walk.found,
        repository.addresses,
        choices={
            "diffs": None if diffs is None else "on" * diffs,
            "also": None if also is None else " ".join(also),
        },
        choosing=lambda chosen: git_source(
            path,
            repo,
            exclude=exclude,
            diffs=bool(chosen["diffs"]),
            also=chosen["also"].split(),
        ),
        adding=frozenset(("also",)),
        left_out=left_out,
        revision=repository.head,
    )
    return without_ignored(source, repository.root, exclude=exclude, no_files=HISTORY)

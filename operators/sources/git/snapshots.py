"""A commit of a repository: what it changed, and its tree laid out as a repository of its own."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from operators.foundation.sanitize import shown_path
from operators.sources.git.git_process import GitError, environment, git_output, git_stream, split
from operators.sources.git.repository import Repository
from operators.sources.git.tracked_files import MAX_PACKED

ADDED = "A"


class Change(NamedTuple):
    """A path that a commit changed, and git's letter for how."""

    path: bytes
    status: str


def changes(repository: Repository, parent: str, commit: str) -> list[Change]:
    """The files that differ between ``parent`` and ``commit``; a renamed one is two.

    Raises:
        GitError: git refuses.
    """
    arguments = ("diff-tree", "-r", "-z", "--name-status", "--no-renames", parent, commit)
    with git_stream(repository.root, *arguments) as stream:
        fields = list(split(stream))
    return [
        Change(path, status.decode())
        for status, path in zip(fields[::2], fields[1::2], strict=True)
    ]


def lay_out(
    repository: Repository,
    commit: str,
    folder: Path,
    keep: Callable[[str], bool] = lambda path: True,
) -> int:
    """Write the files of ``commit`` into a new repository with one commit, which has its date.

    Links, submodules, files of more than ``MAX_PACKED`` bytes and those that ``keep`` refuses by
    their paths are left out. No filter or other setting of the repository runs, which `git archive`
    does not promise. A ``folder`` that is there is replaced once the new one is whole.

    Returns:
        The number of files.

    Raises:
        GitError: git refuses, or the tree has a path that leads out of it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        tree = Path(made, "tree")
        tree.mkdir()
        count = 0
        for path, content in tree_files(repository, commit, keep):
            file = os.path.join(os.fsencode(tree), _inside(path))
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(file, "xb") as out:
                out.write(content)
            count += 1
        moment = git_output(repository.root, "show", "-s", "--format=%cI", commit)
        _commit_all(tree, f"Snapshot of {commit}", moment)
        if folder.exists():
            shutil.rmtree(folder)
        tree.rename(folder)
    return count


def tree_files(
    repository: Repository, commit: str, keep: Callable[[str], bool]
) -> Iterator[tuple[bytes, bytes]]:
    """The path and the content of each regular file of ``commit`` that ``keep`` takes by its path.

    Files of more than ``MAX_PACKED`` bytes are left out.

    Raises:
        GitError: git refuses, or the clone lacks the content of a file.
    """
    paths: list[bytes] = []
    with tempfile.TemporaryFile() as requests:
        listing = ("ls-tree", "-r", "-l", "-z", "--full-tree", commit)
        with git_stream(repository.root, *listing) as stream:
            for entry in split(stream):
                head, _, path = entry.partition(b"\t")
                mode, kind, content, size = head.split()
                if kind != b"blob" or mode == b"120000" or not keep(shown_path(path)):
                    continue
                if not size.isdigit():  # git has no size of what the clone lacks
                    raise _incomplete(repository, commit)
                if int(size) <= MAX_PACKED:
                    paths.append(path)
                    requests.write(content + b"\n")
        requests.seek(0)
        with git_stream(repository.root, "cat-file", "--batch", asked=requests) as stream:
            for path in paths:
                fields = stream.readline().split()
                if fields[1] != b"blob":
                    raise _incomplete(repository, commit)
                yield path, stream.read(int(fields[2]))
                stream.read(1)  # the end of the line


def _incomplete(repository: Repository, commit: str) -> GitError:
    return GitError(
        f"{repository.root} lacks the content of files of {commit}: clone it without --filter"
    )


def _inside(path: bytes) -> bytes:
    """``path``, which a checkout would write too."""
    if any(part.lower() in (b"", b".", b"..", b".git") for part in path.split(b"/")):
        raise GitError(f"the tree has the path {path!r}, which leads out of it")
    return path


def _commit_all(folder: Path, message: str, moment: str) -> None:
    who = {"NAME": "crosscorpus", "EMAIL": "crosscorpus@localhost", "DATE": moment}
    roles = {f"GIT_{role}_{k}": v for role in ("AUTHOR", "COMMITTER") for k, v in who.items()}
    nobodys = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for command in (
        ("init", "-q", "--template="),
        ("add", "--all", "--force", "."),
        ("commit", "-q", "--allow-empty", "-m", message),
    ):
        done = subprocess.run(
            ["git", *command],
            cwd=folder,
            env=environment() | roles | nobodys,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise GitError(f"git {command[0]}: {done.stderr.decode('utf-8', 'replace').strip()}")

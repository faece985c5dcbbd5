"""Lists and reads the files of an untrusted folder, with size limits, each once, as documents.

Symbolic links are never followed, so that none leads out of the folder or into a loop. A file's
size is checked before it is opened and while it is read; its hash and its text come from the same
bytes.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Container, Iterator
from contextlib import closing
from dataclasses import dataclass
from posixpath import splitext

from operators.foundation.disk_dict import DiskDict
from operators.foundation.sanitize import shown_path
from operators.sources.jsonl import SourceError
from operators.sources.protocol import Item, Key, ReadIssue

_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)


class Skipped(Exception):
    """A file is left out on purpose; says why."""

    ending: str | None = None


class UnknownEnding(Skipped):
    """No reader supports the file's ending."""

    def __init__(self, ending: str, what: str = "text") -> None:
        super().__init__(f"no known {what} type: {ending}")
        self.ending = ending


class Generated(Skipped):
    """The file is generated; says how this was detected."""

    def __init__(self, why: str) -> None:
        super().__init__(f"generated: {why}")


class NotInstalled(Skipped):
    """What reads the file is not installed: its last version stays."""


class Gone(Skipped):
    """The file no longer exists."""


class NoDocument(Skipped):
    """A file of this kind is never a document, whatever its content; says why."""


@dataclass(frozen=True, slots=True)
class Content:
    """A file's bytes, and when it was last modified (seconds since 1970)."""

    data: bytes
    modified: float


Reader = Callable[[bytes, Key], Item]
"""Makes an item from a file's path within the folder and its document's key."""


@dataclass
class Walk:
    """The scans of one folder; the last has read ``done`` of the ``found`` files."""

    root: bytes
    scope: tuple[str, str]  # corpus and repo of its documents
    done: int = 0
    found: int = 1

    def items(self, read: Reader) -> Iterator[Item]:
        """The :func:`file_item` of each file, by path, and the issues of other entries."""
        with closing(find_files(self.root)) as entries:
            if not entries:
                raise SourceError(f"{shown_path(self.root)} is empty: is it mounted?")
            self.done, self.found = 0, len(entries)
            for path, issue in entries.starting(b""):
                self.done += 1
                yield issue or file_item(path, entries, self.scope, read)


def file_item(path: bytes, names: Container[bytes], scope: tuple[str, str], read: Reader) -> Item:
    """The item that ``read`` makes from a file, or the issue that says why there is none.

    ``read`` may raise :class:`Skipped`, OSError and ValueError. If two of ``names`` are shown
    alike, only one becomes a document.
    """
    shown = shown_path(path)
    if shown.encode() != path and shown.encode() in names:
        return ReadIssue(shown, "another file has this very name", failed=False)
    key = (*scope, shown)
    try:
        return read(path, key)
    except NoDocument as reason:
        return ReadIssue(shown, str(reason), failed=False)
    except Skipped as reason:
        gone = isinstance(reason, Generated)  # an earlier release made too many chunks of it
        state = "failed" if isinstance(reason, NotInstalled) else "left_out"
        why, ending = str(reason), reason.ending
        return ReadIssue(
            shown, why, failed=False, key=key, state=state, withdrawn=gone, ending=ending
        )
    except (OSError, ValueError) as exc:
        return ReadIssue(shown, f"cannot be read: {getattr(exc, 'strerror', None) or exc}", key=key)


def find_files(root: bytes) -> DiskDict[ReadIssue | None]:
    """The regular files below ``root`` by their paths relative to it, ``/`` between parts.

    Links, hidden folders and special files yield an issue that is no failure. A folder that cannot
    be listed yields a failure without a key, as it may contain anything. The caller closes it.
    """
    entries = DiskDict[ReadIssue | None]()
    waiting = [b""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(os.path.join(root, folder) if folder else root) as listed:
                for entry in listed:
                    path = folder + b"/" + entry.name if folder else entry.name
                    why = None
                    if entry.is_symlink():
                        why = "symbolic link"
                    elif entry.is_dir(follow_symlinks=False):
                        if not entry.name.startswith(b"."):
                            waiting.append(path)
                            continue
                        why = "hidden folder"
                    elif not entry.is_file(follow_symlinks=False):
                        why = "not a regular file"
                    entries[path] = ReadIssue(shown_path(path), why, failed=False) if why else None
        except OSError as exc:
            reason = f"the folder cannot be listed: {exc.strerror or exc}"
            entries[folder] = ReadIssue(shown_path(folder) or ".", reason)
    return entries


def read_file(root: bytes, path: bytes, limit: int) -> Content:
    """The content of the file at ``path`` below ``root``, at most ``limit`` bytes.

    Raises:
        Skipped: the path leads out of ``root`` or through a symbolic link, or it is no regular
            file, or the file is larger than ``limit``.
        Gone: it does not exist.
        OSError: it cannot be read.
    """
    if os.path.isabs(path) or b".." in path.split(b"/"):
        raise Skipped("the path leads out of the folder")
    full = os.path.join(root, path)
    folder = os.path.dirname(full)
    if os.path.realpath(folder) != os.path.normpath(folder):
        raise Skipped("symbolic link on the way")
    try:
        _check(os.lstat(full), limit)
        opened = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as exc:
        if exc.errno in _NOT_THERE:
            raise Gone("gone since the folder was listed") from None
        raise
    with open(opened, "rb") as stream:
        status = os.fstat(opened)
        _check(status, limit)
        data = stream.read(status.st_size + 1)  # a buffer of ``limit`` a file fragments the heap
        if len(data) > status.st_size:  # it grows, or its file system reports no size
            data += stream.read(limit + 1 - len(data))
    if len(data) > limit:
        raise Skipped(f"larger than {limit} bytes")
    return Content(data, status.st_mtime)


def content_key(content: Content, *others: str | None) -> str:
    """SHA-256 (hex) of a document's inputs: bytes, time and ``others``."""
    digest = hashlib.sha256(content.data)
    digest.update("\0".join((repr(content.modified), *(o or "" for o in others))).encode())
    return digest.hexdigest()


def ending(path: str) -> str:
    """The ending of a file's name with its dot; empty too if the name ends with the dot.

    >>> ending("docs/api.md"), ending("docs/a."), ending("LICENSE")
    ('.md', '', '')
    """
    return splitext(path)[1].rstrip(".")


def _check(status: os.stat_result, limit: int) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise Skipped("symbolic link")
    if not stat.S_ISREG(status.st_mode):
        raise Skipped("not a regular file")
    if status.st_size > limit:
        raise Skipped(f"larger than {limit} bytes")

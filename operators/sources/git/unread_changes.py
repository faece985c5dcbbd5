"""The changes of a working tree since a run over it, for a question that waits for them."""

import os
import re
import time
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from operators.foundation import cancellation
from operators.sources.files import Skipped, read_file
from operators.sources.git.git_process import GitError, git_output, git_stream, split
from operators.sources.git.stored_content import Attributes, attributes, is_stored

LIMIT_S = 2.0
"""Timeout in seconds of one look at a working tree."""

LARGEST = 20_000_000
"""Bytes; a larger file is not compared: it counts as unchanged."""

_ENTRY = re.compile(rb"(?P<tag>.) (?P<mode>\d+) (?P<id>\w+) (?P<stage>\d)\t(?P<path>.*)", re.DOTALL)


class _TooLong(Exception):
    """The look takes longer than ``LIMIT_S``."""


def changed_since(folder: str, revision: str, read_at: datetime) -> str | None:
    """The changes of a working tree that a run over it did not read; None: none, or no tree.

    Files that git does not track don't count, nor do changes from before ``read_at``, the run's
    start: it read them. A look that takes longer than ``LIMIT_S`` finds none, nor does one in
    which git itself is silent for that long.

    Args:
        folder: the top folder of the working tree.
        revision: the commit that the run read.
        read_at: the run's start.

    Raises:
        Cancelled: the caller no longer waits.
    """
    root, until = Path(folder), time.monotonic() + LIMIT_S
    if not os.path.isdir(root):
        return None
    try:
        head = git_output(root, "rev-parse", "HEAD", silence=LIMIT_S)
        changed = set(_staged(root, read_at, until)) | set(_edited(root, read_at, until))
    except (GitError, _TooLong):
        return None
    commit = [f"HEAD is {head[:12]}"] if head != revision else []
    return ", ".join([*commit, *([f"changed files: {len(changed)}"] if changed else [])]) or None


@lru_cache(maxsize=256)
def _kept(folder: str, revision: str, read_at: datetime, second: int) -> str | None:
    return changed_since(folder, revision, read_at)


def recently_changed(folder: str, revision: str, read_at: datetime) -> str | None:
    """As :func:`changed_since`, at most a second old: many questions share a look."""
    return _kept(folder, revision, read_at, int(time.monotonic()))


def _staged(root: Path, read_at: datetime, until: float) -> Iterator[bytes]:
    """The paths modified since whose content in the index is not that of ``HEAD``."""
    names = ("--name-only", "-z", "--no-renames", "HEAD")
    with git_stream(root, "diff-index", *names, silence=LIMIT_S) as stream:
        for path in split(stream):
            _check(until)
            if _modified(root, path).st_mtime > read_at.timestamp():
                yield path


def _edited(root: Path, read_at: datetime, until: float) -> Iterator[bytes]:
    """The paths modified since whose file is not what the index has."""
    waiting: dict[bytes, str] = {}
    with git_stream(root, "ls-files", "-v", "--stage", "-z", silence=LIMIT_S) as stream:
        for entry in map(_ENTRY.fullmatch, split(stream)):
            _check(until)
            # lower case: assumed unchanged; S: not checked out; the others are links and submodules
            if not entry or entry["tag"] not in b"HM" or not entry["mode"].startswith(b"100"):
                continue
            path = entry["path"]
            status = _modified(root, path)
            if status.st_mtime > read_at.timestamp() and status.st_size <= LARGEST:
                waiting[path] = entry["id"].decode() if entry["stage"] == b"0" else ""
    known = attributes(root, waiting, LIMIT_S) if waiting else Attributes()
    for path, content in waiting.items():
        _check(until)
        try:
            data = read_file(os.fsencode(root), path, LARGEST).data
        except OSError:
            continue
        except Skipped:  # it is gone, or a link
            yield path
        else:
            if path not in known.converted and not is_stored(data, content):
                yield path


def _modified(root: Path, path: bytes) -> os.stat_result:
    """The status of a path of the working tree, or of its nearest folder that is there."""
    full = os.path.join(os.fsencode(root), path)
    while True:
        try:
            return os.lstat(full)
        except OSError:
            full = os.path.dirname(full)


def _check(until: float) -> None:
    cancellation.check()
    if time.monotonic() > until:
        raise _TooLong

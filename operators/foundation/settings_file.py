"""Reads another program's settings file within limits, and replaces it atomically.

The path may be in an untrusted checkout. So a file is never opened through a symbolic link, never
written in place, and no file beside it is overwritten.
"""

import json
import os
import secrets
import stat
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

LARGEST = 10_000_000
"""Maximum bytes of a settings file."""

# Windows lacks the first two, others the last.
_PLAIN = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


def within_project(path: Path) -> Path:
    """The relative ``path`` if it contains no link, because a checkout may not lead out of itself.

    Raises:
        ValueError: a folder on the way is a symbolic link, or no folder.
    """
    for folder in [*path.parents][-2::-1]:  # without the project's own
        if folder.is_symlink():
            raise ValueError(f"{folder} is a symbolic link, which may lead out of the project")
        if os.path.lexists(folder) and not folder.is_dir():
            raise ValueError(f"{folder} is no folder")
    return path


def behind_link(path: Path) -> Path:
    """``path``, or the file to which it links: for a user's own links only.

    Raises:
        ValueError: the link leads round in a loop, or to nothing.
    """
    if not path.is_symlink():
        return path
    try:
        return Path(os.path.realpath(path, strict=True))
    except OSError as error:
        raise ValueError(f"its symbolic link leads to no file: {error.strerror}") from None


def read_settings(path: Path) -> bytes | None:
    """The content of the file at ``path``; None: there is none.

    Raises:
        ValueError: it is a link, a folder, a pipe or a device, or larger than :data:`LARGEST`.
        OSError: it can't be read.
    """
    try:
        _check(os.lstat(path))  # opening a device may already have an effect
        opened = os.open(path, os.O_RDONLY | _PLAIN)
    except FileNotFoundError:
        return None
    with open(opened, "rb") as stream:
        _check(os.fstat(opened))
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"it has over {LARGEST:,} bytes")
    return data


def replace_settings(path: Path, data: bytes, old: bytes | None) -> Path | None:
    """Replace the file at ``path`` with the content ``old`` by one with ``data``, atomically.

    The new file has the old one's mode and owner; where there was none, the mode that the process's
    umask gives. Folders on the way are made.

    Returns:
        the new file with ``old`` in it: NAME.bak, or NAME.bak.1 and so on where there is one.

    Raises:
        OSError: the file or its backup can't be written; the file is as it was.
    """
    if old is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    like = None if old is None else os.lstat(path)
    new = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    _create(new, data, like)
    try:
        backup = None if old is None else _backup(path, old, like)
        os.replace(new, path)
    except BaseException:
        new.unlink()
        raise
    return backup


def read_strict_json(data: bytes) -> Any:
    """The value of ``data``, JSON in UTF-8, if writing it again loses nothing.

    >>> read_strict_json(b'{"a": [1, null]}')
    {'a': [1, None]}

    Raises:
        ValueError: it is no such JSON, or it has what a parser drops or changes: a key twice in
            one object, a comment, NaN or Infinity. Says what, and where.
        RecursionError: it is nested too deeply.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        raise ValueError("it begins with a byte-order mark")
    text = data.decode()
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        # the parser may stop at a comma or a bracket before the comment
        rest = text[error.pos :].lstrip(" \t\r\n,[{")
        if rest.startswith(("//", "/*", "#")):
            reason = f"line {error.lineno} has a comment, and comments can't be kept"
            raise ValueError(reason) from None
        raise


def _backup(path: Path, old: bytes, like: os.stat_result | None) -> Path:
    for n in count():
        place = path.with_name(f"{path.name}.bak{f'.{n}' if n else ''}")
        with suppress(FileExistsError):  # also a dangling link
            _create(place, old, like)
            return place
    raise AssertionError


def _create(path: Path, data: bytes, like: os.stat_result | None) -> None:
    """Make a file with the mode and, where allowed, the owner of ``like``; over nothing."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _PLAIN
    opened = os.open(path, flags, 0o666 if like is None else 0o600)
    try:
        with open(opened, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(opened)
        if like is not None:
            with suppress(PermissionError, AttributeError):  # Windows has no such owners
                os.chown(path, like.st_uid, like.st_gid, follow_symlinks=False)
            path.chmod(stat.S_IMODE(like.st_mode) & 0o777)
    except BaseException:
        path.unlink()
        raise


def _check(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise ValueError("it is a symbolic link, which may lead out of the project")
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is no regular file")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if key in fields:
            raise ValueError(f"the key {key!r} is there twice")
        fields[key] = value
    return fields


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")

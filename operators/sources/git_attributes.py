"""The declarations about a file in ``.gitattributes``: its encoding, and whether it is generated.

They apply from the file's folder up to the top of its source. A folder is read once a scan. These
files are untrusted, so their patterns are matched only by
:mod:`operators.sources.ignore_patterns`. A pattern that matches a folder also applies to all files
in it.
"""

import posixpath
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial

from operators.sources.files import Skipped, read_file
from operators.sources.ignore_patterns import ignore_patterns

Declared = Callable[[bytes], str | None]
"""Returns the declared encoding of the file at a path within the source."""

_DEEPEST = 100  # folders above a file; reading them takes quadratic time
_LARGEST = 100_000  # bytes of such a file
_ENCODING = re.compile(rb"(?<!\S)[-!]?working-tree-encoding(?:=(?P<value>\S+))?(?!\S)")
_GENERATED = re.compile(rb"(?<!\S)(?P<off>[-!])?linguist-generated(?:=(?P<value>\S+))?(?!\S)")
_LINE = re.compile(rb'[ \t]*(?P<pattern>"(?:[^"\\]|\\.)*"|[^\s"#]\S*)[ \t]+(?P<attributes>.*)')

_Rules = list[tuple[Callable[[bytes], bool], str | None]]
"""Paths below the folder of one file, and their value; the last match wins."""


def declared_encodings(root: bytes) -> Declared:
    """The encodings that files in the folder ``root`` and below declare; each is read once."""
    return partial(_nearest, lru_cache(1000)(partial(_read, root, _ENCODING, _encoding)))


def declared_generated(root: bytes) -> Callable[[bytes], bool | None]:
    """Whether files in ``root`` and below declare a file as generated; None: no declaration."""
    rules = lru_cache(1000)(partial(_read, root, _GENERATED, _generated))

    def declared(path: bytes) -> bool | None:
        value = _nearest(rules, path)
        return None if value is None else value == "true"

    return declared


def _encoding(match: re.Match[bytes]) -> str | None:
    return None if match["value"] is None else match["value"].decode("ascii", "replace")


def _generated(match: re.Match[bytes]) -> str | None:
    if match["off"] == b"!":
        return None
    return "false" if match["off"] or (match["value"] or b"").lower() == b"false" else "true"


def _nearest(of_folder: Callable[[bytes], _Rules], path: bytes) -> str | None:
    if path.count(b"/") > _DEEPEST:
        return None
    folder = path
    while folder:
        folder = posixpath.dirname(folder)
        within = path[len(folder) :].lstrip(b"/")
        for holds, value in reversed(of_folder(folder)):
            if holds(within):
                return value
    return None


def _read(
    root: bytes,
    attribute: re.Pattern[bytes],
    value: Callable[[re.Match[bytes]], str | None],
    folder: bytes,
) -> _Rules:
    try:
        data = read_file(root, posixpath.join(folder, b".gitattributes"), _LARGEST).data
    except (Skipped, OSError):
        return []
    rules: _Rules = []
    for line in data.splitlines():
        match = _LINE.fullmatch(line)
        settings = match and [*attribute.finditer(match["attributes"])]
        if match and settings and not line.startswith(b"[attr]"):
            pattern = match["pattern"]
            if pattern.startswith(b'"'):
                pattern = re.sub(rb"\\(.)", rb"\1", pattern[1:-1])
            with suppress(ValueError):  # no valid gitignore pattern
                holds = ignore_patterns(re.sub(rb"^([!#])", rb"\\\1", pattern))
                rules.append((holds, value(settings[-1])))
    return rules

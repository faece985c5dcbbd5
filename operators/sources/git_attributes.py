"""Which files ``.gitattributes`` declares as generated (``linguist-generated``).

It applies from the file's folder up to the top of its source. A folder is read once a scan. These
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

_DEEPEST = 100  # folders above a file; reading them takes quadratic time
_LARGEST = 100_000  # bytes of such a file
_GENERATED = re.compile(rb"(?<!\S)(?P<off>[-!])?linguist-generated(?:=(?P<value>\S+))?(?!\S)")
_LINE = re.compile(rb'[ \t]*(?P<pattern>"(?:[^"\\]|\\.)*"|[^\s"#]\S*)[ \t]+(?P<attributes>.*)')

_Rules = list[tuple[Callable[[bytes], bool], bool | None]]
"""Paths below the folder of one file, and what they declare; the last match wins."""


def declared_generated(root: bytes) -> Callable[[bytes], bool | None]:
    """Whether files in ``root`` and below declare a file as generated; None: no declaration."""
    return partial(_nearest, lru_cache(1000)(partial(_read, root)))


def _generated(match: re.Match[bytes]) -> bool | None:
    if match["off"] == b"!":
        return None
    return not match["off"] and (match["value"] or b"").lower() != b"false"


def _nearest(of_folder: Callable[[bytes], _Rules], path: bytes) -> bool | None:
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


def _read(root: bytes, folder: bytes) -> _Rules:
    try:
        data = read_file(root, posixpath.join(folder, b".gitattributes"), _LARGEST).data
    except (Skipped, OSError):
        return []
    rules: _Rules = []
    for line in data.splitlines():
        match = _LINE.fullmatch(line)
        settings = match and [*_GENERATED.finditer(match["attributes"])]
        if match and settings and not line.startswith(b"[attr]"):
            pattern = match["pattern"]
            if pattern.startswith(b'"'):
                pattern = re.sub(rb"\\(.)", rb"\1", pattern[1:-1])
            with suppress(ValueError):  # no valid gitignore pattern
                holds = ignore_patterns(re.sub(rb"^([!#])", rb"\\\1", pattern))
                rules.append((holds, _generated(settings[-1])))
    return rules

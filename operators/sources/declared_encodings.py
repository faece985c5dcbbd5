"""The declarations about a file in ``.gitattributes`` and ``.editorconfig``.

They declare an encoding, and whether the file is generated (``linguist-generated``).

They apply from the file's folder up to the top of its source. A folder is read once a scan. These
files are untrusted, so their patterns are matched only by
:mod:`operators.sources.ignore_patterns`. A pattern that matches a folder also applies to all files
in it.
"""

import codecs
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from itertools import islice
from typing import NamedTuple

from operators.sources.files import Skipped, read_file
from operators.sources.ignore_patterns import ignore_patterns

Declared = Callable[[bytes], str | None]
"""Returns the declared encoding of the file at a path within the source."""

_DEEPEST = 100  # folders above a file; reading them takes quadratic time
_LARGEST = 100_000  # bytes of such a file
_MOST_ALTERNATIVES = 100  # of the braces of one pattern
_ENCODING = re.compile(rb"(?<!\S)[-!]?working-tree-encoding(?:=(?P<value>\S+))?(?!\S)")
_GENERATED = re.compile(rb"(?<!\S)(?P<off>[-!])?linguist-generated(?:=(?P<value>\S+))?(?!\S)")
_LINE = re.compile(rb'[ \t]*(?P<pattern>"(?:[^"\\]|\\.)*"|[^\s"#]\S*)[ \t]+(?P<attributes>.*)')
_SECTION = re.compile(rb"\[(?P<pattern>.{1,1024})\]\s*(?:[#;].*)?")
_PAIR = re.compile(rb"(?P<key>[\w-]+)\s*[=:]\s*(?P<value>[^\s#;]*)")
_BRACES = re.compile(rb"\{([^{}]*,[^{}]*)\}")


_Rule = tuple[Callable[[bytes], bool], str | None]


class _Rules(NamedTuple):
    """The rules of one file: the paths below its folder, and their value; the last match wins."""

    rules: Sequence[_Rule] = ()
    is_top: bool = False  # files above it are ignored


def declared_encodings(root: bytes) -> Declared:
    """The encodings that files in the folder ``root`` and below declare; each is read once."""
    attributes = lru_cache(1000)(
        partial(_read, root, b".gitattributes", partial(_attributes, _ENCODING, _encoding))
    )
    settings = lru_cache(1000)(partial(_read, root, b".editorconfig", _settings))

    def declared(path: bytes) -> str | None:
        return _nearest(attributes, path) or _nearest(settings, path)

    return declared


def declared_generated(root: bytes) -> Callable[[bytes], bool | None]:
    """Whether files in ``root`` and below declare a file as generated; None: no declaration."""
    parse = partial(_attributes, _GENERATED, _generated)
    attributes = lru_cache(1000)(partial(_read, root, b".gitattributes", parse))

    def declared(path: bytes) -> bool | None:
        value = _nearest(attributes, path)
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
        folder_rules = of_folder(folder)
        within = path[len(folder) :].lstrip(b"/")
        for holds, value in reversed(folder_rules.rules):
            if holds(within):
                return value
        if folder_rules.is_top:
            break
    return None


def _read(root: bytes, name: bytes, parse: Callable[[bytes], _Rules], folder: bytes) -> _Rules:
    try:
        return parse(read_file(root, posixpath.join(folder, name), _LARGEST).data)
    except (Skipped, OSError):
        return _Rules()


def _attributes(
    attribute: re.Pattern[bytes], value: Callable[[re.Match[bytes]], str | None], data: bytes
) -> _Rules:
    rules = list[_Rule]()
    for line in data.splitlines():
        match = _LINE.fullmatch(line)
        settings = match and [*attribute.finditer(match["attributes"])]
        if match and settings and not line.startswith(b"[attr]"):
            pattern = match["pattern"]
            if pattern.startswith(b'"'):
                pattern = re.sub(rb"\\(.)", rb"\1", pattern[1:-1])
            rules += _rule([pattern], value(settings[-1]))
    return _Rules(rules)


def _settings(data: bytes) -> _Rules:
    rules, patterns, is_top = list[_Rule](), list[bytes](), False
    for line in map(bytes.strip, data.removeprefix(codecs.BOM_UTF8).splitlines()):
        if section := _SECTION.fullmatch(line):
            inside = re.sub(rb"/\*\*(?=[^/*])", rb"/**/*", section["pattern"])  # as in src/**.c
            patterns = [*islice(_alternatives(inside), _MOST_ALTERNATIVES)]
        elif (pair := _PAIR.match(line)) and pair["key"].lower() == b"charset" and patterns:
            rules += _rule(patterns, pair["value"].decode("ascii", "replace"))
        elif pair and pair["key"].lower() == b"root" and not patterns:
            is_top = pair["value"].lower() == b"true"
    return _Rules(rules, is_top)


def _rule(patterns: Sequence[bytes], value: str | None) -> Iterator[_Rule]:
    """The rule of ``patterns``; none if they are no valid gitignore patterns."""
    lines = (re.sub(rb"^([!#])", rb"\\\1", pattern) for pattern in patterns)
    with suppress(ValueError):
        yield ignore_patterns(b"\n".join(lines)), value


def _alternatives(pattern: bytes) -> Iterator[bytes]:
    """The expansion of a pattern with braces: ``*.c`` and ``*.h`` for ``*.{c,h}``."""
    waiting = [pattern]
    while waiting:
        one = waiting.pop()
        if braces := _BRACES.search(one):
            before, after = one[: braces.start()], one[braces.end() :]
            choices = braces[1].split(b",")[:_MOST_ALTERNATIVES]
            waiting += (before + choice + after for choice in reversed(choices))
        else:
            yield one

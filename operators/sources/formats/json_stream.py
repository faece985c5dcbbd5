r"""Reads the objects in a JSON file, in any form that tools write.

The forms: one array, pages one after the other (``[...][...]``, as ``gh api --paginate`` writes
them), an array of pages (``--slurp``), one object a line, objects over many lines, gzipped or not.
Only objects inside arrays are yielded, one at a time, whatever the size of the file.
"""

import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from operators.sources.protocol import ReadIssue

MAX_OBJECT = 16 * 1024 * 1024
"""Characters; a longer object is a ReadIssue."""

MAX_DIGITS = 4000
"""Digits of a whole number: Python reads no more than 4,300."""

CHUNK = 256 * 1024
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)
_BETWEEN = re.compile(r"[\s,\[\]\x1e\ufeff]*")
_TOKEN = re.compile(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|[{}"]')
_RESTART = re.compile(r"\n(?=[\[{\]])")


def file_objects(path: Path, raw: BinaryIO) -> Iterator[tuple[str, Any]]:
    """The place of each object in ``raw``, the open file ``path``, and its value or ReadIssue."""
    text = io.TextIOWrapper(unpacked(raw), encoding="utf-8", errors="replace", newline="\n")
    reader = _Reader(text)
    try:
        for item in _objects(reader):
            where = f"{path.name}: line {reader.began}"
            yield where, item if isinstance(item, dict) else ReadIssue(where, item)
    except DAMAGED as exc:
        where = f"{path.name}: line {reader.line}"
        yield where, ReadIssue(where, f"the gzip data are damaged or end early: {exc}")
    finally:
        text.detach()  # the file is the caller's


def unpacked(raw: BinaryIO) -> Any:
    """The content of a file, gzipped or not, from its start; a read may raise ``DAMAGED``."""
    start = raw.read(2)
    raw.seek(0)
    return gzip.GzipFile(fileobj=raw) if start == b"\x1f\x8b" else raw


class _Reader:
    """The buffer of text that is read but not consumed; the last object began at line ``began``."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.text = ""
        self.at = 0
        self.line = self.began = 1

    def more(self) -> bool:
        """Read more text, and drop what was consumed."""
        kept = self.text[self.at :]
        chunk = self.stream.read(max(CHUNK, len(kept)))
        self.text, self.at = kept + chunk, 0
        return bool(chunk)

    def take(self, end: int) -> str:
        taken = self.text[self.at : end]
        self.line += taken.count("\n")
        self.at = end
        return taken


def _objects(reader: _Reader) -> Iterator[dict[str, Any] | str]:
    """The objects, and for anything else the reason of the error."""
    open_arrays, issues = 0, 0
    while True:
        match = _BETWEEN.match(reader.text, reader.at)
        assert match is not None
        between = reader.take(match.end())
        open_arrays += between.count("[") - between.count("]")
        reader.began = reader.line
        if reader.at == len(reader.text):
            if reader.more():
                continue
            break
        result = _object(reader)
        issues += isinstance(result, str)
        yield result
    if open_arrays > 0 and not issues:
        yield "the file ends early: an array is not closed"


def _object(reader: _Reader) -> dict[str, Any] | str:
    if reader.text[reader.at] != "{":
        _restart(reader)
        return "not a JSON object"
    length = _length(reader)
    if isinstance(length, str):
        _restart(reader)
        return length
    raw = reader.text[reader.at : reader.at + length]
    try:
        result: dict[str, Any] | str = read_json(raw)  # it begins with a brace: an object
    except TooDeep as exc:
        result = str(exc)
    except ValueError as exc:
        _restart(reader)
        return f"not JSON: {exc}"
    reader.take(reader.at + length)
    return result


def _length(reader: _Reader) -> int | str:
    """Characters of the object that begins here, or why it has no end."""
    depth = scanned = 0
    while True:
        for token in _TOKEN.finditer(reader.text, reader.at + scanned):
            mark = token[0]
            if mark == "{":
                depth += 1
            elif mark == "}":
                depth -= 1
                if depth == 0:
                    return token.end() - reader.at
            elif mark == '"':  # a string that does not end within what was read
                if "\n" in reader.text[token.start() :]:
                    return "not JSON: a string does not end on its line"
                scanned = token.start() - reader.at
                break
            scanned = token.end() - reader.at
        if len(reader.text) - reader.at > MAX_OBJECT:
            return f"longer than {MAX_OBJECT} characters"
        if not reader.more():
            return "not JSON: it ends early"


def _restart(reader: _Reader) -> None:
    """Skip to the next line that can begin an object or array."""
    while (match := _RESTART.search(reader.text, reader.at)) is None:
        reader.take(max(reader.at, len(reader.text) - 1))
        if not reader.more():
            reader.take(len(reader.text))
            return
    reader.take(match.end())


def read_json(text: str) -> Any:
    """The value of ``text`` parsed as JSON, without NaN and numbers that Python cannot read.

    Raises:
        TooDeep: its nesting exceeds the stack.
        ValueError: it is no JSON; says where.
    """
    try:
        return _JSON.decode(text)
    except RecursionError:
        raise TooDeep("nested too deeply") from None


class TooDeep(ValueError):
    """The nesting is too deep."""


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number has more than {MAX_DIGITS} digits")
    return int(digits)


_JSON = json.JSONDecoder(parse_constant=_no_constant, parse_int=_integer)

"""The hunks of a patch, and a reader of its lines with limits.

A line in a hunk starts with one of ``+-\\`` or a space, and the header counts them. So no line of
a file can be read as structure, unless the header's counts are wrong.
"""

import re
from itertools import islice
from typing import NamedTuple

from operators.foundation.sanitize import REPLACEMENT, clean_text
from operators.review.patch_paths import shown

PLAIN = rb"--- [^\n]*\n\+\+\+ [^\n]*\n@@ -"
"""The first lines of a file in ``diff -u``."""

MAX_TEXT = 16_000_000
"""Bytes of a patch that are read, without binary files; the rest is left out."""

MAX_LINES = 400_000
"""Lines of a patch that are read."""

MAX_PARTS = 20_000
"""Files of a patch that are read."""

MAX_FILE = 1_000_000
"""Bytes of one file's hunks; a larger file is generated, and its further hunks are left out."""

_NEXT_FILE = re.compile(rb"\n(?:diff -|Index: )")  # in no hunk
_PLAIN = re.compile(rb"\n" + PLAIN)
_SIGNATURE = re.compile(rb"\n-- ?\r?\n(?:\d+\.\d|\s*\Z)")
_NUMBERED = re.compile(rb"@@ -\d")
_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(.*)", re.DOTALL)


class Hunk(NamedTuple):
    """Lines of a file that changed together, and those around them.

    ``removed`` and ``added``: (line number from 1, the line without its newline): of the old file,
    of the new one. A line of a file with CRLF keeps its carriage return. ``lines``: all lines
    unchanged, with their marks. ``section``: the enclosing definition as git gives it.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    section: str
    removed: tuple[tuple[int, str], ...]
    added: tuple[tuple[int, str], ...]
    lines: str


class Reader:
    """The lines of a patch in order, up to the limits."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.parts, self.lines, self.taken = data, 1, 0, 0, 0

    @property
    def is_full(self) -> bool:
        """Whether the limits of a patch are reached."""
        over = self.parts > MAX_PARTS, self.lines >= MAX_LINES, self.taken >= MAX_TEXT
        return any(over)

    def next_part(self, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
        """Go to the next match of ``pattern``, which begins with a newline; None: none is read."""
        match = None if self.is_full else pattern.search(self.data, self.at - 1)
        if match is None:
            return None
        self.at = match.start() + 1
        self.parts += 1
        return None if self.is_full else match

    def peek(self) -> bytes | None:
        """The next line, cut after ``MAX_FILE`` bytes; None: no further line is read."""
        if self.at >= len(self.data) or self.is_full:
            return None
        return self.data[self.at : min(self._end(), self.at + MAX_FILE)]

    def take(self) -> bytes:
        """The next line, which must exist; it may be over the limits."""
        start, end = self.at, self._end()
        self.at = end + 1
        self.taken += self.at - start
        self.lines += 1
        return self.data[start : min(end, start + MAX_FILE)]

    def has(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether ``pattern``, which begins with a newline, matches at the next line."""
        return pattern.match(self.data, self.at - 1) is not None

    def skip_file(self) -> None:
        """Go to the next position that is certainly in no hunk."""
        match = _NEXT_FILE.search(self.data, self.at - 1)
        self.at = match.start() + 1 if match else len(self.data)

    def _end(self) -> int:
        end = self.data.find(b"\n", self.at)
        return len(self.data) if end < 0 else end


def read_hunks(reader: Reader, name: str, crlf: bool, notes: list[str]) -> tuple[Hunk, ...]:
    """The hunks that follow; ``crlf``: the patch's own lines end with CRLF."""
    hunks = []
    limit = reader.taken + MAX_FILE
    while (line := reader.peek()) is not None and line.startswith(b"@@"):
        reader.take()
        header = _HUNK.fullmatch(line.removesuffix(b"\r"))
        if header is None:
            why = unreadable(line) or "cannot be read"
            notes.append(f"{name}: the hunk {shown(line)} {why} and was left out")
            break
        hunk, missing = _hunk(reader, header, crlf, limit)
        hunks.append(hunk)
        if reader.taken > limit:
            notes.append(f"{name}: what follows its first {MAX_FILE} bytes was left out")
            reader.skip_file()
            break
        if missing and not reader.is_full:
            says = f"{hunk.old_count} and {hunk.new_count} lines"
            has = f"{hunk.old_count - missing[0]} and {hunk.new_count - missing[1]}"
            where = f"the hunk at line {hunk.new_start}"
            notes.append(f"{name}: {where} says {says} and has {has}: it was cut or edited")
    if any(REPLACEMENT in hunk.lines for hunk in hunks):
        notes.append(f"{name}: bytes that are no text in UTF-8 became U+FFFD")
    return tuple(hunks)


def unreadable(line: bytes) -> str | None:
    """What is wrong with the header of a hunk that is of another form; None: something else."""
    if line.startswith(b"@@@"):
        return "is of a merge (a combined diff)"
    return None if _NUMBERED.match(line) else "has no line numbers, as `@@ -12,5 +12,6 @@` has"


def shortened(hunk: Hunk, most: int) -> Hunk:
    """``hunk`` up to its first ``most`` changed lines."""
    if len(hunk.removed) + len(hunk.added) <= most:
        return hunk
    lines = hunk.lines.split("\n")
    changed = (n for n, line in enumerate(lines) if line[:1] in ("-", "+"))
    text = "\n".join(lines[: next(islice(changed, most, None))])
    removed, added = numbered(text, hunk.old_start, hunk.new_start)
    return hunk._replace(removed=removed, added=added, lines=text)


def _hunk(
    reader: Reader, header: re.Match[bytes], crlf: bool, limit: int
) -> tuple[Hunk, tuple[int, int] | None]:
    """A hunk, and how many old and new lines are missing of those that its header counts.

    Lines are read as long as the header counts them, and further while they can't be structure.
    """
    old_start, old_count, new_start, new_count = (int(one or 1) for one in header.groups()[:4])
    old_left, new_left = old_count, new_count
    taken: list[bytes] = []
    while reader.taken <= limit and (line := reader.peek()) is not None:
        mark, left = line[:1], (old_left, new_left)
        is_whole = old_left <= 0 and new_left <= 0
        if (left != (1, 1) and reader.has(_PLAIN)) or (left != (1, 0) and reader.has(_SIGNATURE)):
            break
        if mark == b"-":
            old_left -= 1
        elif mark == b"+":
            new_left -= 1
        elif mark == b" " or (line in (b"", b"\r") and not is_whole):  # trailing spaces are lost
            old_left, new_left = old_left - 1, new_left - 1
        elif mark != b"\\":
            break
        reader.take()
        taken.append(line.removesuffix(b"\r") if crlf else line)
    while taken and taken[-1] in (b"", b"\r") and old_left >= 0 and new_left >= 0:
        if not (old_left or new_left):
            break
        taken.pop()
        old_left, new_left = old_left + 1, new_left + 1
    text = clean_text(b"\n".join(taken).decode("utf-8", "replace"))
    removed, added = numbered(text, old_start, new_start)
    section = clean_text(header[5].decode("utf-8", "replace")).strip()
    hunk = Hunk(old_start, old_count, new_start, new_count, section, removed, added, text)
    return hunk, (old_left, new_left) if old_left or new_left else None


def numbered(
    text: str, old: int, new: int
) -> tuple[tuple[tuple[int, str], ...], tuple[tuple[int, str], ...]]:
    """The removed and the added lines of a hunk with their numbers."""
    removed, added = [], []
    for line in text.split("\n") if text else []:
        mark = line[:1]
        if mark == "-":
            removed.append((old, line[1:]))
        elif mark == "+":
            added.append((new, line[1:]))
        old += mark not in ("+", "\\")
        new += mark not in ("-", "\\")
    return tuple(removed), tuple(added)

"""A change to review, parsed from a patch: unified diffs of git or ``diff -u``.

Two libraries were tried on bad input. ``unidiff`` 1.0 refuses a whole patch for one wrong or cut
hunk, raises ValueError for a long number, and does not unquote paths; ``whatthepatch`` 1.0
raises zlib's error for a damaged binary, reads a mail's signature as a removed line, and needs
quadratic time for a long header.
"""

import codecs
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from operators.errors import CrosscorpusError
from operators.foundation.sanitize import clean_text
from operators.review.patch_hunks import PLAIN, Hunk, Reader, read_hunks, unreadable
from operators.review.patch_paths import (
    Sides,
    header_sides,
    is_inside,
    line_path,
    line_sides,
    shown,
    text_path,
    unquoted,
)

MAX_NOTES = 100

Kind = Literal["added", "deleted", "modified", "renamed", "copied", "mode", "binary", "submodule"]

_EXPECTED = "give the output of `git diff`, `git format-patch` or `diff -u`"
_COLOURED = re.compile(rb"^(?:\x1b\[[0-9;]*[mK])+(?:commit |diff --|--- |@@ )", re.MULTILINE)
_HUNKS = re.compile(rb"^(@@[^\n]*)", re.MULTILINE)
_START = re.compile(
    rb"\n(?=[-d@])(?:(?P<git>diff --git )|(?P<merge>diff --(?:cc|combined) )"
    rb"|(?P<plain>" + PLAIN + rb")|(?P<stray>@@ -))"
)
_EXTENDED = re.compile(
    rb"(old mode|new mode|deleted file mode|new file mode|(?:rename|copy) (?:from|to)"
    rb"|(?:dis)?similarity index|index) ([^\r]*)\r?"
)
_WHOLE = ("renamed", "copied", "mode", "binary", "submodule", "deleted")
"""The kinds of a changed file that may have no hunk."""
_MOVES: dict[bytes, Kind] = {b"rename": "renamed", b"copy": "copied"}
_MODES = (b"index", b"new file mode", b"deleted file mode")


class ChangedFile(NamedTuple):
    """A file of a change.

    ``path``: after the change, before it if the file was deleted. ``old_path``: before it; None
    for a file that was added. A binary file or submodule has that ``kind``, whatever happened.
    """

    path: str
    old_path: str | None
    kind: Kind
    hunks: tuple[Hunk, ...]


class Change(NamedTuple):
    """The content of a patch.

    A series of patches may have a file several times; each numbers its lines after those before.

    ``notes``: what was left out or is in doubt, a sentence each.
    """

    files: tuple[ChangedFile, ...]
    notes: tuple[str, ...]


def read_change(patch: str | bytes) -> Change:
    """The change in ``patch``.

    A file whose path leaves the tree is left out with a note, and so is anything over the limits
    of this module and a merge's combined diff. Bytes that are no UTF-8 become U+FFFD.

    Args:
        patch: the output of ``git diff``, ``git format-patch``, ``git show`` or ``diff -u``.

    Raises:
        CrosscorpusError: it is empty, has colours, or names no changed file.
    """
    data = b"\n" + _bytes(patch)
    if not data.strip():
        raise CrosscorpusError(f"the patch is empty: {_EXPECTED}")
    reader = Reader(data)
    files: list[ChangedFile] = []
    notes: list[str] = []
    strays = 0
    while start := reader.next_part(_START):
        if start["stray"]:
            reader.take()
            strays += 1
        elif file := _READERS[start.lastgroup or ""](reader, notes):
            files.append(file)
    _check_lines(data, files, is_empty=not files and not notes)
    if strays:
        notes.append(f"hunks that belong to no file were left out: {strays}")
    if reader.is_full and reader.at < len(data):
        rest = len(data) - reader.at
        count = data.count(b"\ndiff --git ", reader.at - 1)
        notes.append(f"the patch is too long: its last {rest} bytes ({count} files) were not read")
    if len(notes) > MAX_NOTES:
        notes[MAX_NOTES:] = [f"notes left out here: {len(notes) - MAX_NOTES}"]
    return Change(tuple(files), tuple(notes))


def _check_lines(data: bytes, files: Sequence[ChangedFile], *, is_empty: bool) -> None:
    """Raise :class:`CrosscorpusError` for a patch without a changed line, if it should have one."""
    hunks = [hunk for file in files for hunk in file.hunks]
    if any(hunk.removed or hunk.added for hunk in hunks) or any(f.kind in _WHOLE for f in files):
        return
    for header in _HUNKS.finditer(data):
        if header[1].startswith(b"@@@"):
            raise CrosscorpusError(
                "the patch is the combined diff of a merge: compare with one parent, as"
                " `git diff HEAD^1 HEAD` does"
            )
        if why := unreadable(header[1]):
            raise CrosscorpusError(f"the hunk {shown(header[1])} {why}: {_EXPECTED}")
    if is_empty:
        raise CrosscorpusError(f"the text is no diff: {_EXPECTED}")
    if hunks:
        raise CrosscorpusError(
            f"no line of the patch begins with + or -, so that nothing changes: {_EXPECTED},"
            " without --word-diff and --color-words"
        )


def _bytes(patch: str | bytes) -> bytes:
    """The patch in UTF-8, without a byte-order mark."""
    data = clean_text(patch).encode() if isinstance(patch, str) else patch
    data = data.removeprefix(codecs.BOM_UTF8)
    if _COLOURED.search(data):
        raise CrosscorpusError("the patch has colours: give `git diff --no-color`")
    return data


def _git_file(reader: Reader, notes: list[str]) -> ChangedFile | None:
    header = reader.take().removeprefix(b"diff --git ")
    crlf = header.endswith(b"\r")
    fields: dict[bytes, bytes] = {}
    while field := _EXTENDED.fullmatch(reader.peek() or b""):
        fields[field[1]] = field[2]
        reader.take()
    binary = (reader.peek() or b"").startswith((b"Binary files ", b"GIT binary patch"))
    if binary:
        reader.take()
    paths = [
        line_path(reader.take())
        for mark in (b"--- ", b"+++ ")
        if (reader.peek() or b"").startswith(mark)
    ]
    kind, sides = None, header_sides(header.removesuffix(b"\r"))
    for how, moved in _MOVES.items():
        if how + b" from" in fields and how + b" to" in fields:
            kind, sides = moved, Sides(*(unquoted(fields[how + end]) for end in (b" from", b" to")))
    if sides is None and len(paths) == 2:
        sides = line_sides(*paths)
    if sides is None:
        notes.append(f"a file was left out: its path is not clear in {shown(header)}")
        return None
    if b"new file mode" in fields:
        sides = Sides(None, sides.new)
    elif b"deleted file mode" in fields:
        sides = Sides(sides.old, None)
    hunks = () if binary else read_hunks(reader, _name(sides), crlf, notes)
    if any(fields.get(name, b"").endswith(b"160000") for name in _MODES):
        kind = "submodule"
    elif binary:
        kind = "binary"
    elif kind is None and not hunks and None not in sides:
        kind = "mode" if b"new mode" in fields else None
        if kind is None:
            notes.append(f"{_name(sides)}: no line of it was read; the patch may be cut here")
    return _file(sides, kind, hunks, notes)


def _plain_file(reader: Reader, notes: list[str]) -> ChangedFile | None:
    """A file of ``diff -u``, which has no header of git."""
    lines = reader.take(), reader.take()
    sides = line_sides(*map(line_path, lines))
    hunks = read_hunks(reader, _name(sides), lines[1].endswith(b"\r"), notes)
    return _file(sides, None, hunks, notes)


def _merged_file(reader: Reader, notes: list[str]) -> None:
    name = shown(unquoted(reader.take().split(b" ", 2)[2].removesuffix(b"\r")))
    notes.append(f"{name}: the combined diff of a merge was left out; compare with one parent")


_READERS = {"git": _git_file, "plain": _plain_file, "merge": _merged_file}


def _file(
    sides: Sides, kind: Kind | None, hunks: tuple[Hunk, ...], notes: list[str]
) -> ChangedFile | None:
    """The file; None and a note if a path leaves the tree. ``kind`` None: from the sides."""
    paths = [path for path in sides if path is not None]
    if not paths or not all(map(is_inside, paths)):
        notes.append(f"{_name(sides)} was left out: the path leads out of the tree")
        return None
    old = None if sides.old is None else text_path(sides.old)
    plain: Kind = "added" if old is None else "deleted" if sides.new is None else "modified"
    return ChangedFile(text_path(paths[-1]), old, kind or plain, hunks)


def _name(sides: Sides) -> str:
    """The path for a note: one that leaves the tree, else the path after the change."""
    paths = [path for path in (sides.new, sides.old) if path is not None]
    return shown(next((path for path in paths if not is_inside(path)), (*paths, b"")[0]))

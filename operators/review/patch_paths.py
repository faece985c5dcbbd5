"""The paths in a patch: quoted or not, with or without prefixes, below the tree or not."""

import re
from typing import NamedTuple

from operators.foundation.sanitize import clean_text, shown_path
from operators.sources.protocol import printable

NOTHING = b"/dev/null"

_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_LETTERS = bytes.maketrans(b"abtnvfr", b"\a\b\t\n\v\f\r")
_DATE = re.compile(rb"(?<! ) +\d{4}-\d\d-\d\d[ T]\d\d:\d\d[^\t/]{0,40}$")  # tabs became spaces
_PREFIX = re.compile(rb"[abciow12]/")  # the prefixes of git, with diff.mnemonicPrefix
_LONGEST = 10_000  # bytes of a path; no system has longer ones
_DRIVE = re.compile(rb"[A-Za-z]:")


class Sides(NamedTuple):
    """A file's path before and after a change; None: there is no such file."""

    old: bytes | None
    new: bytes | None


def unquoted(name: bytes) -> bytes:
    r"""The path behind git's form ``name``, which is quoted if it has unusual characters.

    >>> unquoted(rb'"a/\303\244\t.txt"').decode()
    'a/ä\t.txt'
    """
    quoted = _QUOTED.match(name)
    if quoted is None:
        return name
    return _ESCAPE.sub(lambda escape: _character(escape[1]), quoted[1])


def line_path(line: bytes) -> bytes:
    r"""The path in a line ``---`` or ``+++``; a date may follow it.

    >>> line_path(b"--- src/my file.c\t2026-01-02 03:04:05 +0000")
    b'src/my file.c'
    """
    rest = line[4:].removesuffix(b"\r")
    if rest.startswith(b'"'):
        return unquoted(rest)
    return _DATE.sub(b"", rest.partition(b"\t")[0][:_LONGEST]).removeprefix(b"./")


def header_sides(rest: bytes) -> Sides | None:
    """The two sides in ``diff --git``, from the rest of the line; None: it is ambiguous.

    The line has no separator between the paths. It is clear if both sides have the same path:
    without prefixes its two halves are equal, else they are so behind the prefixes.

    >>> header_sides(b"a/one b/two b/one b/two")
    Sides(old=b'one b/two', new=b'one b/two')
    """
    if quoted := _QUOTED.match(rest):
        first, second = unquoted(rest), unquoted(rest[quoted.end() :].strip())
    elif rest.endswith(b'"') and b' "' in rest:
        first, _, second = rest.partition(b' "')
        second = unquoted(b'"' + second)
    else:
        middle = len(rest) // 2
        if rest[middle : middle + 1] != b" ":
            return None
        first, second = rest[:middle], rest[middle + 1 :]
    if first == second:
        return Sides(first, second)
    old, new = first.partition(b"/")[2], second.partition(b"/")[2]
    return Sides(old, new) if old == new != b"" else None


def line_sides(old: bytes, new: bytes) -> Sides:
    """The two sides in the lines ``---`` and ``+++``, without the folders that differ.

    A folder ``a`` or ``b`` beside ``/dev/null`` is a prefix.

    >>> line_sides(b"a/src/x.c", b"b/src/x.c"), line_sides(b"a/x.c", b"a/x.c")
    (Sides(old=b'src/x.c', new=b'src/x.c'), Sides(old=b'a/x.c', new=b'a/x.c'))
    >>> line_sides(b"app-1.0/x.c", b"app-1.1/x.c"), line_sides(b"/dev/null", b"b/x.c")
    (Sides(old=b'x.c', new=b'x.c'), Sides(old=None, new=b'x.c'))
    """
    if NOTHING in (old, new):
        sides = (None if one == NOTHING else _PREFIX.sub(b"", one, count=1) for one in (old, new))
        return Sides(*sides)
    if old == new:
        return Sides(old, new)
    (before, _, old_rest), (after, _, new_rest) = old.partition(b"/"), new.partition(b"/")
    prefixed = before != after and before and after
    if prefixed and (old_rest == new_rest != b"" or {before, after} <= {b"a", b"b"}):
        return Sides(old_rest, new_rest)
    return Sides(old, new)


def is_inside(path: bytes) -> bool:
    """Whether ``path`` stays in the tree, also on Windows, and out of git's own folder.

    >>> [is_inside(path) for path in (b"a/..b", b"a/../b", b"/a", b"C:/a", rb"..\\a", b".git/x")]
    [True, False, False, False, False, False]
    """
    parts = path.replace(b"\\", b"/").split(b"/")
    return not _DRIVE.match(path) and not any(
        part.lower() in (b"", b".", b"..", b".git") for part in parts
    )


def text_path(path: bytes) -> str:
    """``path`` in the form of document paths of a working tree."""
    return clean_text(shown_path(path))


def shown(text: bytes) -> str:
    """The start of ``text`` on one line, for a note."""
    return printable(text_path(text[:200]))


def _character(escape: bytes) -> bytes:
    return bytes([int(escape, 8)]) if len(escape) == 3 else escape.translate(_LETTERS)

"""Places named in a query: a file and its line, a commit, an issue, an author.

Tools print these, labels show them, and people paste them: ``path/file.py:120``, the frame of a
traceback, a link with ``#L120``, the first digits of a commit's id, ``#42``. A path may be from
another machine, with leading folders that no collection has: the last parts decide.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

MOST_PLACES = 12
"""The most places of one text; the last ones are kept, because the innermost frames of a Python
traceback are last."""

LONGEST_TEXT = 20_000
"""Characters of a text that are searched for places, from its end."""

LONGEST_OF_BARE = 300
"""The longest text, in characters, in which a bare file name refers to the file. In a longer one,
such as an issue's, it may be the reporter's own ``conf.py``."""

LONGEST_OF_AUTHOR = 100
"""The longest query, in characters, that may ask for an author."""

_PATH = re.compile(
    r"(?<![\w.@+~$/\\-])(?P<path>(?:[A-Za-z]:)?[/\\]{0,2}(?:[\w.@+~$-]+[/\\])*[\w.@+~$-]*\w)"
    r"(?::(?P<a>\d{1,7})(?!\w)|\((?P<b>\d{1,7})[,)]|[?\w=&]{0,40}#L(?P<c>\d{1,7})"
    r"|[\"'`]?,? (?:at )?line (?P<d>\d{1,7}))?"
)
_ENDING = re.compile(r"\w\.[A-Za-z]\w{0,9}$")
_HASH = re.compile(r"(?<![\w.-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}(?![\w-])")
_NUMBER = re.compile(
    r"(?:(?<![\w&/#])#|\b(?:PR|pull request|pull|MR|merge request|issue|bug)s? ?[#!]?)(\d{1,7})\b",
    re.I,
)

_BY = re.compile(r"(?:\bby|\bfrom|\bauthor:?)\s+@?(?=[^\W\d_])", re.I)


class Place(NamedTuple):
    """A file (``path``, perhaps with a ``line`` from 1), or a document by the start of its id."""

    path: tuple[str, ...] = ()
    line: int | None = None
    commit: str = ""
    number: int | None = None


def named_places(text: str) -> list[Place]:
    """The places that ``text`` names, each once, in its order.

    >>> named_places("fails in /home/ann/app/io.py:120:5 since 2dfeccf, see #42")
    ... # doctest: +NORMALIZE_WHITESPACE
    [Place(path=('home', 'ann', 'app', 'io.py'), line=120, commit='', number=None),
     Place(path=(), line=None, commit='2dfeccf', number=None),
     Place(path=(), line=None, commit='', number=42)]
    """
    text = text[-LONGEST_TEXT:]
    fewest = 1 if len(text) <= LONGEST_OF_BARE else 2
    places = []
    for match in _PATH.finditer(text):
        line = match["a"] or match["b"] or match["c"] or match["d"]
        names = tuple(filter(None, re.split(r"[/\\]", match["path"])))
        is_path = len(names) > 1 or _ENDING.search(match["path"]) or line
        if is_path and not names[-1].isdigit() and len(names) >= fewest:
            places.append((match.start(), Place(names, int(line) if line else None)))
    places += [(match.start(), Place(commit=match[0])) for match in _HASH.finditer(text)]
    places += [(match.start(), Place(number=int(match[1]))) for match in _NUMBER.finditer(text)]
    return list(dict.fromkeys(place for _, place in sorted(places)))[-MOST_PLACES:]


def at_place(place: Place, path: str | None, document_id: str, title: str | None) -> int:
    """How well a document fits ``place``: 0 not at all; for paths, the number of common names.

    At least two names, if both paths have a folder.

    >>> at_place(Place(("home", "app", "io.py")), "src/app/io.py", "src/app/io.py", None)
    2
    """
    if place.commit:
        return int(document_id.startswith(place.commit))
    if place.number is not None:
        item = re.compile(rf"(?:pull|issues)/{place.number}(?!\d)")
        mention = re.compile(rf"#{place.number}(?!\d)")
        return int(bool(item.match(document_id) or mention.search(title or "")))
    shared = 0
    for ours, theirs in zip(reversed((path or "").split("/")), reversed(place.path), strict=False):
        if ours != theirs:
            break
        shared += 1
    # if both have folders, a common file name alone is chance: many have a utils.py
    return shared if shared > 1 or 1 in (len(place.path), (path or "").count("/") + 1) else 0


PLACED = ("path", "document_id", "title", "start_line", "end_line")
"""The columns of a passage's location."""


def leaders(place: Place, hits: pl.DataFrame) -> list[int]:
    """The rows of ``hits`` (columns ``PLACED``) that match ``place``.

    Those of the files whose paths share the most names with it, in their order; if some of them
    have the line, only these.
    """
    fits = [at_place(place, *row) for row in hits["path", "document_id", "title"].iter_rows()]
    best = max(fits, default=0)
    rows = [row for row, fit in enumerate(fits) if fit == best and fit]
    if place.line is None:
        return rows
    lines = hits["start_line", "end_line"].rows()
    return [row for row in rows if _has(lines[row], place.line)] or rows


def _has(lines: tuple[int | None, int | None], line: int) -> bool:
    first, last = lines
    return first is not None and last is not None and first <= line <= last


def asks_author(text: str) -> bool:
    """Whether ``text`` may ask for an author: it is short and has a word behind ``by`` or ``from``.

    A longer text, such as an issue's, only mentions who wrote something.
    """
    return len(text) <= LONGEST_OF_AUTHOR and _BY.search(text) is not None


def is_author(text: str, authors: Sequence[str]) -> bool:
    """Whether ``text`` asks for the work of one of ``authors``, by the whole or the first name.

    >>> is_author("commits by Ann", ["Ann Smith"]), is_author("by annotation", ["Ann Smith"])
    (True, False)
    """
    said = text.casefold()
    starts = [match.end() for match in _BY.finditer(said)]
    names = {name.casefold() for author in authors for name in (author, *author.split()[:1])}
    patterns = [re.compile(rf"{re.escape(name)}(?!\w)") for name in names]
    return any(pattern.match(said, start) for pattern in patterns for start in starts)

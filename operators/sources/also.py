"""The additional endings that a user chose for a source, besides the known ones.

An ending has a kind: a language or a format. It is the given one, else the one of the file's name,
else the ending's own name.
"""

import re
from collections.abc import Mapping, Sequence

from operators.errors import UnknownName, suggest
from operators.sources.files import ending
from operators.sources.formats.languages import (
    PACKED,
    code_language,
    is_prose,
    known_kinds,
    prose_format,
)
from operators.sources.jsonl import SourceError

Also = Mapping[str, str]
"""Endings without their dots, and their kinds; empty: it follows from the file's name."""

_FORM = re.compile(r"\.?(?P<ending>[\w+#~-]{1,30})(?:=(?P<kind>[\w+#-]+))?")


def also_read(chosen: Sequence[str]) -> Also:
    """The endings of ``chosen``, each ``.ENDING`` or ``.ENDING=KIND``; the last of two wins.

    Raises:
        SourceError: one is no ending, or names files that hold no text.
        UnknownName: there is no such kind.

    >>> also_read([".tpl=html", ".qmd", "frobnicate"])
    {'tpl': 'html', 'qmd': '', 'frobnicate': 'frobnicate'}
    """
    endings = {}
    for one in chosen:
        form = _FORM.fullmatch(one.lower())
        if form is None:
            raise SourceError(
                f"--also {one!r} is no ending: give .ENDING or .ENDING=KIND, such as .tpl=html"
            )
        name, kind = form["ending"], form["kind"]
        known = code_language(f"a.{name}") or prose_format(f"a.{name}")
        if known in PACKED or name == "pdf":
            raise SourceError(f"--also .{name}: such a file is no text; leave the option out")
        if kind is not None and kind not in (kinds := known_kinds()):
            near = suggest(kind, kinds)
            near = near if near.startswith(",") else ": give a language, markdown or text"
            raise UnknownName(f"--also {one}: unknown kind of text {kind!r}{near}")
        endings[name] = kind or ("" if known else name)
    return endings


def kind_of(path: str, also: Also) -> str | None:
    """The language or format of the file at ``path``; None: neither known nor chosen."""
    chosen = also.get(ending(path).lower().removeprefix("."))
    return chosen or prose_format(path) or code_language(path)


def reads_as_prose(path: str, also: Also) -> bool:
    """Whether people read the file at ``path`` as a document."""
    kind = kind_of(path, also)
    return kind is not None and is_prose(kind)

"""The file ``.mailmap`` of a working tree: the present names of authors.

Git's own reading of it would also follow ``mailmap.file`` and ``mailmap.blob`` of an untrusted
configuration, and would wait for a pipe.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

from operators.foundation.sanitize import clean_text
from operators.sources.files import Skipped, read_file

LARGEST = 5_000_000
"""Bytes; a larger file maps no names."""

Present = Callable[[str, str], str]
"""A name and an address, as a commit has them -> the present name."""

_LINE = re.compile(r"(?P<name>[^<>]*)<(?P<first>[^<>]*)>(?:(?P<old>[^<>]*)<(?P<second>[^<>]*)>)?.*")
_TRAILER = re.compile(r"^([A-Za-z-]+-by:)([^<>\n]+)<([^<>\n]*)>", re.MULTILINE)


def present_names(root: Path) -> Present:
    """The names of ``.mailmap`` at ``root``; without one, each name is the present one.

    A line for a name and an address goes before one for the address alone, and of two for the same
    the later; case does not count (gitmailmap(5)).
    """
    names: dict[tuple[str, str | None], str] = {}
    try:
        lines = read_file(os.fsencode(root), b".mailmap", LARGEST).data.decode("utf-8", "replace")
    except (Skipped, OSError):
        lines = ""
    for line in lines.splitlines():
        match = not line.startswith("#") and _LINE.fullmatch(line)
        if match and (name := match["name"].strip()):
            old = (match["old"] or "").strip().casefold() or None
            address = match["first"] if match["second"] is None else match["second"]
            names[address.strip().casefold(), old] = clean_text(name)

    def present(name: str, address: str) -> str:
        key = address.strip().casefold()
        return names.get((key, name.strip().casefold())) or names.get((key, None)) or name

    return present


def with_present_names(message: str, present: Present) -> str:
    """``message`` with the present names in trailers such as ``Signed-off-by``."""
    return _TRAILER.sub(lambda of: f"{of[1]} {present(of[2].strip(), of[3])} <{of[3]}>", message)

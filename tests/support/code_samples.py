"""Code of every language that is parsed, its definitions marked.

The samples stand in ``code_samples.txt``, each behind a line with its language. A line that a
definition starts on is marked with its name behind "@@"; its last with "@@".
"""

from __future__ import annotations

import re
from pathlib import Path

from operators.sources.chunking.code_breaks import Breaks, breaks

_TEXT = Path(__file__).with_suffix(".txt").read_text("utf-8")
_PARTS = re.split(r"^=== (\w+)\n", _TEXT, flags=re.MULTILINE)
SAMPLES = dict(zip(_PARTS[1::2], _PARTS[2::2], strict=True))


def parsed(text: str, language: str) -> Breaks:
    tsx = language == "tsx"
    found = breaks(text, "typescript" if tsx else language, "a.tsx" if tsx else None)
    assert isinstance(found, Breaks)
    return found


def spans(found: Breaks) -> list[tuple[int, int, str]]:
    """The lines and names of the definitions."""
    return [definition[:3] for definition in found.definitions]


def marked(text: str) -> list[tuple[int, int, str]]:
    """The definitions that the marks of a sample tell."""
    found: list[tuple[int, int, str]] = []
    opened = []
    for number, line in enumerate(text.split("\n")):
        if not (mark := re.search(r"@@([\w.:<>]*)(@*)", line)):
            continue
        if mark[1]:
            opened.append((number, mark[1]))
        for _ in range(0 if mark[1] else 1 + len(mark[2])):
            first, name = opened.pop()
            found.append((first, number, name))
    return sorted([*found, *((first, -1, name) for first, name in opened)])


def check(text: str, found: Breaks) -> None:
    lines = text.split("\n")
    assert len(found.depths) == len(lines)
    assert min(found.depths) >= 0
    assert found.depths[0] == 0
    for definition in found.definitions:
        assert 0 <= definition.first <= definition.last < len(lines)
    assert found.definitions == sorted(found.definitions, key=lambda d: (d.first, -d.last))
    assert len(found.innermost()) == len(lines)

"""The names in a change: what it defines or changes, and what its new lines use.

Definitions in the lines of a hunk are recognized by the forms of many languages. A definition
around a hunk is in none of its lines: the passages of the old files name it, by their syntax.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cached_property

import polars as pl

from operators.foundation.cancellation import check
from operators.frames import DEFINES
from operators.ranking.definitions import definition_of, names_defined, qualified_parts
from operators.review.changes import Change
from operators.review.patch_hunks import Hunk, shortened
from operators.signals.secondary import is_secondary

MOST_LINES = 2_000
"""Lines of a change that are searched for names, those of its first files."""

TEST_WEIGHT = 0.1
"""The weight of a line of a test; a line of tested code has 1."""

PROSE = (".md", ".rst", ".txt", ".adoc", ".html", ".json", ".lock", ".yaml", ".yml", ".toml")
"""Endings of files that define no names."""

SHORTEST = 3
"""The shortest name, in characters."""

_CALLED = re.compile(r"([^\W\d]\w*)(?:<[^<>()]{0,60}>)?\(")
_TYPE = re.compile(
    r"\b((?:[A-Z][a-z0-9]+){2,})\b"
    r"|(?:[:<&|\[(=,] ?|-> |\b(?:new|extends|implements|is|as) )([A-Z][a-z]\w*)"
    r"|\b([A-Z][a-z]\w*)(?=::|[.\[<{]\w)"
)
"""A type name: with two humps, or in the position of a type."""
_COMMON = re.compile("[a-z]+")
_LITERALS = {"None", "True", "False"}
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`")
_COMMENT = re.compile(r"^\s*(?:#(?!\w)|//|/?\*+\s|--\s|;|%).*$|\s(?:#|//)\s.*$")
_LISTED = re.compile(rf'"{DEFINES}": \[([^]]*)\]')


class _Passage:
    """A passage of an old file, with the definitions that begin in it, looked up once."""

    def __init__(self, start: int, text: str, names: list[str]) -> None:
        self.start, self.text, self.names = start, text, names
        self.last_names = {qualified_parts(name)[-1] for name in names}

    @cached_property
    def _ends(self) -> list[int]:
        """Where each line ends."""
        return [*(match.start() for match in re.finditer("\n", self.text)), len(self.text)]

    @cached_property
    def _definitions(self) -> list[tuple[int, int, str]]:
        """Where each name is defined: the match's start and end."""
        parts = (part for one in self.names for part in qualified_parts(one) if part[:2] != "__")
        found = []
        for name in dict.fromkeys(parts):
            check()
            found += [(*one.span(), name) for one in definition_of(name).finditer(self.text)]
        return found

    def enclosing(self, line: int) -> str | None:
        """The last name whose definition begins in the passage at or before ``line``."""
        if not self.start <= line < self.start + len(self._ends):
            return None
        end = self._ends[line - self.start]
        begun = [(start, name) for start, of, name in self._definitions if of <= end]
        return max(begun)[1] if begun else None


def touched_lines(change: Change) -> list[tuple[str, int, int]]:
    """The lines of the old files that each hunk shows: path, first and last line, from 1.

    A hunk that only adds lines has the line before them. A file that was added has none.
    """
    return [
        (file.old_path, hunk.old_start, hunk.old_start + max(hunk.old_count, 1) - 1)
        for file in change.files
        if file.old_path is not None
        for hunk in file.hunks
    ]


def changed_lines(change: Change) -> list[tuple[str, int, int]]:
    """The lines of the old files that each hunk removes, or the line after which it adds lines."""
    ranges = []
    for file in change.files:
        for hunk in file.hunks if file.old_path is not None else ():
            numbers = [number for number, _ in hunk.removed]
            if not numbers and hunk.old_count:
                marks = [line[:1] for line in hunk.lines.split("\n")]
                numbers = [hunk.old_start + marks.index("+") - 1] if "+" in marks else []
            if numbers:
                ranges.append((file.old_path or "", min(numbers), max(numbers)))
    return ranges


def changed_names(change: Change, passages: pl.DataFrame) -> list[str]:
    """The names that a change defines, removes or changes, those with most lines first.

    A bare name of a method has its owner before it, ``Session.close``, if it is the only one.

    Args:
        change: its hunks are read.
        passages: the passages of the old files around the hunks: path, start_line, text, metadata.
    """
    counted: defaultdict[str, float] = defaultdict(float)
    owned: defaultdict[str, set[str]] = defaultdict(set)
    around: dict[str, list[_Passage]] = {}
    for path, start, text, metadata in passages[
        "path", "start_line", "text", "metadata"
    ].iter_rows():
        listed = _LISTED.search(metadata or "")
        names = re.findall(r'"([^"]+)"', listed[1]) if listed else []
        around.setdefault(path, []).append(_Passage(start or 1, text, names))
    for path, hunk in code_hunks(change):
        lines = [line for _, line in (*hunk.removed, *hunk.added)]
        defined = {name for line in lines for name in _defined(line)}
        first = min((number for number, _ in hunk.removed), default=hunk.old_start)
        if not defined:
            enclosing = [one.enclosing(first) for one in around.get(path, ())]
            defined = {name for name in enclosing if name} or set(_defined(hunk.section))
        known = {name for one in around.get(path, ()) for name in one.last_names}
        for name in defined & known if known else defined:
            counted[name] += len(lines) * (TEST_WEIGHT if is_secondary(path) else 1)
            of_file = {full for one in around.get(path, ()) for full in one.names}
            owned[name] |= {of for of in of_file if qualified_parts(of)[-1] == name} or {name}
    names = [name for name, _ in sorted(counted.items(), key=lambda of: (-of[1], of[0]))]
    is_clear = {name for name in names if is_bare(name) and len(owned[name]) == 1}
    return [next(iter(owned[name])) if name in is_clear else name for name in names]


def is_bare(name: str) -> bool:
    """Whether ``name`` says little without its receiver or its type.

    >>> is_bare("close"), is_bare("New"), is_bare("close_all"), is_bare("Session.close")
    (True, True, False, False)
    """
    return re.fullmatch(r"[a-z]+|[A-Za-z]{1,3}", name) is not None


def used_names(change: Change, changed: Iterable[str]) -> list[str]:
    """The names that new lines call, or that are written like types, newly used ones first.

    Names that only tests use come after, and single lower-case words, which may mean
    anything, last. Names of ``changed``, and those that the change itself defines, are left out.
    """
    own = {qualified_parts(name)[-1] for name in changed}
    before, after, in_code = Counter[str](), Counter[str](), set[str]()
    for path, hunk in code_hunks(change):
        for _, line in hunk.removed:
            before.update(_used(line))
        for _, line in hunk.added:
            after.update(_used(line))
            in_code.update(() if is_secondary(path) else _used(line))
            own.update(_defined(line))
    names = [name for name in after if name not in own]

    def order(name: str) -> tuple[bool, bool, bool, int, str]:
        is_common = bool(_COMMON.fullmatch(name))
        return is_common, name not in in_code, name in before, -after[name], name

    return sorted(names, key=order)


def code_hunks(change: Change) -> Iterable[tuple[str, Hunk]]:
    """The hunks of a change, except prose, with the paths of their old files.

    They have ``MOST_LINES`` changed lines in all; a hunk without any counts as one.
    """
    left = MOST_LINES
    for file in change.files:
        for hunk in () if file.path.endswith(PROSE) else file.hunks:
            if left <= 0:
                return
            check()
            yield file.old_path or file.path, shortened(hunk, left)
            left -= max(len(hunk.removed) + len(hunk.added), 1)


def _defined(line: str) -> list[str]:
    """The names, in any order, that a line defines, in the forms of many languages."""
    names = names_defined(line[:400])
    return [name for name in names if len(name) >= SHORTEST and not name.startswith("__")]


def _used(line: str) -> list[str]:
    code = _COMMENT.sub("", _QUOTED.sub('""', line[:400]))
    names = [*_CALLED.findall(code), *("".join(of) for of in _TYPE.findall(code))]
    return [n for n in dict.fromkeys(names) if len(n) >= SHORTEST and n not in _LITERALS]

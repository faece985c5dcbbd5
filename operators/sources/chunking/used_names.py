"""The names that code uses: those that it calls, reads, imports; runs in the parser's process.

A syntax tree knows what a text does not: a name in a comment or a string is no use of it, nor is
the name in the head of its own definition.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from tree_sitter import Node, Tree

from operators.sources.chunking.definitions import node_text
from operators.sources.chunking.grammars import GRAMMARS, loaded

DATA = frozenset(("toml", "yaml"))
"""The languages whose names are keys: nothing uses them."""

_NAMES = re.compile(
    r"(?:^|_)(?:identifier|constant|name|variable|alias|module|constructor"
    r"|function|method|bareword|varname|package)$|^simple_symbol$"
)
"""The types of nodes that are names, in all grammars."""

_NAME = re.compile(r"\w[\w-]*[?!]?")
_QUALIFIED = re.compile(r"[.:#]+")
_SELECTOR = re.compile(r"(?<=\w):(?!:).*", re.DOTALL)
_WORD = re.compile(r"[a-z]+")
_TELLING = re.compile(
    r"type|field|property|constant|alias|module|constructor|command|function|method|symbol"
)
_CALLS = re.compile(r"call|appl[yi]|command|invocation|template|generic|^object_reference$")
_IMPORTS = re.compile(r"import|^use(?!r)|using|require(?!d|ment)|include")
_FIELDS = frozenset(("method", "operator"))  # of a message, and of a name between operands
_NO_HEADS = re.compile(r"_specifier$|^instance$")
_MACROS = re.compile(r"^preproc_arg$")
_MACRO = re.compile(r'"(?:[^"\\]|\\.)*(?:"|$)|/\*.*?(?:\*/|$)|//.*|(?<!\w)([^\W\d]\w*)([ \t]*\()?')

Head = tuple[str, int, int]
"""A definition's qualified name, and the first and last line of its head."""


class _Kinds(NamedTuple):
    """The kinds of a grammar's nodes, by what they say about a name."""

    names: frozenset[int]
    telling: frozenset[int]  # of names that are no variables
    calls: frozenset[int]
    imports: frozenset[int]
    macros: frozenset[int]  # the texts of macros, which C's grammars do not parse
    heads: frozenset[int]  # of definitions with a name


def used_names(
    tree: Tree, source: bytes, language: str, heads: Iterable[Head]
) -> list[tuple[int, str]] | None:
    """The names that a tree uses, each with the line from 0, sorted.

    A single lower-case word is more often a variable than a use of a function of that name: it
    counts where it is called, imported, an attribute, a decorator, or a type.

    Args:
        tree: of ``source``.
        language: a key of ``GRAMMARS``.
        heads: of the definitions in the source; the name in a head is no use of it.

    Returns:
        None if the language is one of ``DATA``.
    """
    if language in DATA:
        return None
    begun: dict[tuple[str, int], list[int]] = defaultdict(list)
    for number, (qualified, first, last) in enumerate(heads):
        for line in range(first, last + 1):
            begun[_last_part(qualified), line].append(number)
    taken: set[int] = set()
    used: set[tuple[int, str]] = set()
    kinds, cursor, path = _kinds(language), tree.walk(), list[Node]()
    while True:
        node = cursor.node
        assert node is not None
        if node.kind_id in kinds.names:
            name, line = node_text(node), node.start_point[0]
            if not node.child_count:
                name = _last_part(name)
            numbers = begun.get((name, line), ())
            head = next((number for number in numbers if number not in taken), None)
            field = cursor.field_name
            if head is not None:
                taken.add(head)
            elif field == "name" and not numbers and path and path[-1].kind_id in kinds.heads:
                pass  # of a definition on one line
            elif _NAME.fullmatch(name) and (
                not _WORD.fullmatch(name)
                or field in _FIELDS
                or _is_telling(node, path, source, kinds)
            ):
                used.add((line, name))
        elif node.kind_id in kinds.macros:
            used.update(_in_macro(node_text(node), node.start_point[0]))
        if cursor.goto_first_child():
            path.append(node)
            continue
        while not cursor.goto_next_sibling():
            if not path:
                return sorted(used)
            cursor.goto_parent()
            path.pop()


def _last_part(name: str) -> str:
    """The last part of a qualified name, the first of a selector in Objective-C.

    >>> [_last_part(name) for name in ("Foo::bar", "A.B", "#size", ":go", "Foo.do:with:")]
    ['bar', 'B', 'size', 'go', 'do']
    """
    return _QUALIFIED.split(_SELECTOR.sub("", name))[-1]


def _in_macro(text: str, line: int) -> Iterator[tuple[int, str]]:
    """The names in the ``text`` of a macro that begins on ``line``; words only if called."""
    for row, code in enumerate(text.split("\n"), line):
        for name, call in _MACRO.findall(code):
            if name and (call or not _WORD.fullmatch(name)):
                yield row, name


def _is_telling(node: Node, path: Sequence[Node], source: bytes, kinds: _Kinds) -> bool:
    """Whether a lower-case word is more than a variable; ``path``: the nodes around it."""
    before = source[max(0, node.start_byte - 2) : node.start_byte]
    after = source[node.end_byte : node.end_byte + 3].lstrip(b" \t")
    member = before.endswith((b".", b"::", b"->", b"@", b"`")) and before != b".."
    if member or after[:1] == b"(" or node.kind_id in kinds.telling:
        return True
    around = next((one for one in reversed(path) if one.byte_range != node.byte_range), node)
    leads = around.start_byte == node.start_byte and (after[:1] != b"." or after[:2] == b".(")
    called = leads and any(one.kind_id in kinds.calls for one in (around, *path[-1:]))
    return called or any(one.kind_id in kinds.imports for one in path[-3:])


@cache
def _kinds(language: str) -> _Kinds:
    grammar = loaded(language)
    assert grammar is not None  # the tree was parsed with it
    named = {
        number: kind
        for number in range(grammar.node_kind_count)
        if grammar.node_kind_is_named(number) and (kind := grammar.node_kind_for_id(number))
    }
    patterns = (_NAMES, _TELLING, _CALLS, _IMPORTS, _MACROS)
    kept = [{n for n, kind in named.items() if one.search(kind)} for one in patterns]
    defining = {one for one in GRAMMARS[language].definitions.split() if not _NO_HEADS.search(one)}
    heads = {n for n, kind in named.items() if kind in defining}
    return _Kinds(*map(frozenset, (*kept, heads)))

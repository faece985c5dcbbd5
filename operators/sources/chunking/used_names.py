"""The names that code uses: those that it calls, reads, imports; runs in the parser's process.

A syntax tree knows what a text does not: a name in a comment or a string is no use of it, nor is
the name in the head of its own definition.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from tree_sitter import Node, Tree

from operators.sources.chunking.grammars import loaded

DATA = frozenset(("toml", "yaml"))
"""The languages whose names are keys: nothing uses them."""

_NAMES = re.compile(
    r"(?:^|_)(?:identifier|constant|name|variable|alias|module|constructor"
    r"|function|method|bareword|varname|package)$"
)
"""The types of nodes that are names, in all grammars."""

_NAME = re.compile(r"\w[\w-]*[?!]?")
_WORD = re.compile(r"[a-z]+")
_TELLING = re.compile(
    r"type|field|property|constant|alias|module|constructor|command|function|method"
)
_CALLS = re.compile(r"call|appl[yi]|command|invocation|template|generic")
_IMPORTS = re.compile(r"import|^use|using|require|include")

Head = tuple[str, int, int]
"""A definition's qualified name, and the first and last line of its head."""


class _Kinds(NamedTuple):
    """The kinds of a grammar's nodes, by what they say about a name."""

    names: frozenset[int]
    telling: frozenset[int]  # of names that are no variables
    calls: frozenset[int]
    imports: frozenset[int]


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
    pending: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for name, first, last in heads:
        pending[re.split(r"[.:#]+", name)[-1]].append((first, last))
    used: set[tuple[int, str]] = set()
    kinds, cursor, path = _kinds(language), tree.walk(), list[Node]()
    while True:
        node = cursor.node
        assert node is not None
        if node.kind_id in kinds.names:
            name, line = (node.text or b"").decode("utf-8", "replace"), node.start_point[0]
            head = next((one for one in pending.get(name, ()) if one[0] <= line <= one[1]), None)
            if head:
                pending[name].remove(head)
            elif _NAME.fullmatch(name) and (
                not _WORD.fullmatch(name) or _is_telling(node, path, source, kinds)
            ):
                used.add((line, name))
        if cursor.goto_first_child():
            path.append(node)
            continue
        while not cursor.goto_next_sibling():
            if not path:
                return sorted(used)
            cursor.goto_parent()
            path.pop()


def _is_telling(node: Node, path: Sequence[Node], source: bytes, kinds: _Kinds) -> bool:
    """Whether a lower-case word is more than a variable; ``path``: the nodes around it."""
    before = source[max(0, node.start_byte - 1) : node.start_byte]
    after = source[node.end_byte : node.end_byte + 3].lstrip(b" \t")[:1]
    if before in (b".", b":", b">", b"@") or after == b"(" or node.kind_id in kinds.telling:
        return True
    around = path[-1] if path else node
    leads = around.start_byte == node.start_byte and after != b"."
    called = leads and around.kind_id in kinds.calls
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
    patterns = (_NAMES, _TELLING, _CALLS, _IMPORTS)
    return _Kinds(
        *(frozenset(n for n, kind in named.items() if one.search(kind)) for one in patterns)
    )

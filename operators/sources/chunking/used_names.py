"""The names that code uses: those that it calls, reads, imports; runs in the parser's process.

A syntax tree knows what a text does not: a name in a comment or a string is no use of it, nor is
the name in the head of its own definition.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

from tree_sitter import Node, Query, QueryCursor

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


def used_names(
    root: Node, source: bytes, language: str, heads: Iterable[Head]
) -> list[tuple[int, str]]:
    """The names that a tree uses, each with the line from 0, sorted.

    A single lower-case word is more often a variable than a use of a function of that name: it
    counts where it is called, imported, an attribute, a decorator, or a type.

    Args:
        root: of the tree of ``source``.
        language: a key of ``GRAMMARS``, none of ``DATA``.
        heads: of the definitions in the source; the name in a head is no use of it.
    """
    pending: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for name, first, last in heads:
        pending[re.split(r"[.:#]+", name)[-1]].append((first, last))
    used: set[tuple[int, str]] = set()
    nodes = QueryCursor(_query(language)).captures(root).get("name", [])
    for node in sorted(nodes, key=lambda node: (node.start_byte, node.end_byte)):
        name, line = (node.text or b"").decode("utf-8", "replace"), node.start_point[0]
        if not _NAME.fullmatch(name):
            continue
        head = next((one for one in pending.get(name, ()) if one[0] <= line <= one[1]), None)
        if head:
            pending[name].remove(head)
        elif not _WORD.fullmatch(name) or _is_telling(node, source):
            used.add((line, name))
    return sorted(used)


def _is_telling(node: Node, source: bytes) -> bool:
    """Whether a lower-case word is more than a variable."""
    before = source[max(0, node.start_byte - 1) : node.start_byte]
    after = source[node.end_byte : node.end_byte + 3].lstrip(b" \t")[:1]
    if before in (b".", b":", b">", b"@") or after == b"(" or _TELLING.search(node.type):
        return True
    around = node.parent
    leads = around is not None and around.start_byte == node.start_byte and after != b"."
    if around and leads and _CALLS.search(around.type):
        return True
    for _ in range(3):
        if around is None:
            return False
        if _IMPORTS.search(around.type):
            return True
        around = around.parent
    return False


@cache
def _query(language: str) -> Query:
    grammar = loaded(language)
    assert grammar is not None  # the tree was parsed with it
    kinds = {
        grammar.node_kind_for_id(number)
        for number in range(grammar.node_kind_count)
        if grammar.node_kind_is_named(number) and grammar.node_kind_is_visible(number)
    }
    names = sorted(kind for kind in kinds if kind and _NAMES.search(kind))
    return Query(grammar, f"[{' '.join(f'({name})' for name in names)}] @name")

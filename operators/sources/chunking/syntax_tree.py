"""The places where the syntax tree of a text lets it be cut: the parser's process runs this.

A comment, decorator or attribute is one piece with the code right below it. Code that the parser
did not understand adds no depth, and a definition with a broken head does not count: such lines are
cut as in any text.
"""

import re
import time
from collections.abc import Sequence
from itertools import accumulate

from tree_sitter import Language, Node, Parser, Point, Tree, TreeCursor

from operators.sources.chunking.grammars import GRAMMARS, Grammar, loaded

MAX_DEPTH = 256
"""Levels of the syntax tree that are read; deeper code is cut by lines."""

MAX_SYMBOL = 200
"""Characters of a qualified name."""

_SECONDS, _SECONDS_A_BYTE, _MOST_SECONDS = 0.5, 5e-6, 3.0
_READ = 16384

Span = tuple[int, int]  # first and last line
Found = tuple[int, int, str]  # a definition: first and last line from 0, qualified name

_LEADING = re.compile(r"comment|marginalia|decorator|attribute_(item|list|declaration)$")
_WRAPPER = re.compile(r"^(decorated_definition|template_declaration|export_statement)$")
_BODY = re.compile(
    r"block|body|(declaration|statement|variant|enumerator|accessor)_list$|^compound_statement$"
)
_CONTINUES = re.compile(
    r"\s*(?:[)\]}{]"
    r"|(?:end|fi|done|esac|else|elif|elsif|elseif|except|finally|catch|rescue|ensure|then)\b"
    r"|#\s*(?:endif|else|elif)\b)",
    re.IGNORECASE,
)
_RECEIVER = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*\)$")
_NEEDS_BODY = re.compile(r"_specifier$|^namespace_definition$")
_FUNCTIONS = re.compile(r"function|class$")


def answer(request: bytes) -> tuple[list[int], list[Found]] | None:
    r"""The depth of a cut before each line of a text, and its definitions.

    Args:
        request: the name of a grammar, a key of ``GRAMMARS``; a NUL; the text, with ``\n`` at the
            ends of its lines.

    Returns:
        None where the grammar does not load or the parser takes too long. Definitions come by
        first line, the outer before the inner.
    """
    named, _, source = request.partition(b"\0")
    name, text = named.decode(), source.decode()
    tree = _parsed(source.replace(b"\0", b" "), loaded(name))
    if tree is None:
        return None
    spans, definitions = _walk(tree.walk(), GRAMMARS[name])
    definitions.sort(key=lambda found: (found[0], -found[1]))
    return _depths(text.split("\n"), spans), definitions


def _parsed(source: bytes, language: Language | None) -> Tree | None:
    if language is None:
        return None
    allowed = min(_SECONDS + _SECONDS_A_BYTE * len(source), _MOST_SECONDS)
    deadline = time.thread_time() + allowed  # CPU time: a busy machine cuts a text no other way

    def read(offset: int, _: Point) -> bytes:
        return source[offset : offset + _READ]

    def late(_offset: int, _error: bool) -> bool:
        return time.thread_time() > deadline

    try:
        return Parser(language).parse(read, progress_callback=late)
    except ValueError:  # given up
        return None


class _Level:
    """A node whose children are being walked."""

    def __init__(self, node: Node, span: Span, qualifier: str, defines: bool) -> None:
        self.row = node.start_point[0]
        self.wraps = _WRAPPER.match(node.type) is not None
        self.body = _BODY.search(node.type) is not None
        self.span = span  # of the node, with what leads it
        self.qualifier = qualifier
        self.defines = defines
        self.lead = self.lead_last = -1  # the run of comments above the next child
        self.last = -1  # where the child before ends


def _walk(cursor: TreeCursor, grammar: Grammar) -> tuple[set[Span], list[Found]]:
    """The lines of every piece of syntax of more than one line, and the definitions."""
    spans: set[Span] = set()
    definitions: dict[tuple[Span, str], Found] = {}
    root = cursor.node
    assert root is not None
    types = frozenset(grammar.definitions.split())
    levels = [_Level(root, (-1, -1), "", False)]
    going = cursor.goto_first_child()
    while going:
        node, level = cursor.node, levels[-1]
        assert node is not None
        span, leads = _span(node, level)
        qualifier = level.qualifier
        defines = not leads and node.type in types
        if defines and (named := _name(node, grammar)):
            qualifier = f"{qualifier}{grammar.separator}{named}" if qualifier else named
            qualifier = qualifier[:MAX_SYMBOL]
            definitions[span, qualifier] = (*span, qualifier)
        inner = _Level(node, span, qualifier, defines)
        if span[1] > span[0] and not node.is_error:
            if not (inner.body and span[1] >= level.span[1] - 1):
                spans.add(span)
        elif span[1] > span[0]:
            _distrust(levels, spans, definitions)
        if leads and level.lead < level.lead_last:
            spans.add((level.lead, level.lead_last))
        deeper = node.end_point[0] > node.start_point[0] and len(levels) < MAX_DEPTH
        if deeper and cursor.goto_first_child():
            levels.append(inner)
            continue
        while not (going := cursor.goto_next_sibling()):
            levels.pop()
            if not levels or not cursor.goto_parent():
                break
    return spans, list(definitions.values())


def _distrust(
    levels: Sequence[_Level], spans: set[Span], definitions: dict[tuple[Span, str], Found]
) -> None:
    """Forget the pieces whose head, not only their body, the parser did not understand."""
    for level in reversed(levels):
        if level.body:
            return
        spans.discard(level.span)
        if level.defines:
            definitions.pop((level.span, level.qualifier), None)


def _span(node: Node, level: _Level) -> tuple[Span, bool]:
    """The lines of a child with the comments above it, and whether it is a comment itself."""
    first, (last, column) = node.start_point[0], node.end_point
    if column == 0 and last > first:
        last -= 1
    alone = first > level.last
    level.last = last
    follows = level.lead_last >= 0 and first <= level.lead_last + 1
    if _LEADING.search(node.type):
        if alone and not follows:
            level.lead = level.span[0] if first == level.row and level.span[0] >= 0 else first
        if alone or follows:
            level.lead_last = last
        return (first, last), alone or follows
    start = first
    if follows:
        start = level.lead
    elif (first == level.row or (level.wraps and last == level.span[1])) and level.span[0] >= 0:
        start = level.span[0]
    level.lead = level.lead_last = -1
    return (start, last), False


def _depths(lines: Sequence[str], spans: set[Span]) -> list[int]:
    steps = [0] * (len(lines) + 2)
    for first, last in spans:
        steps[first + 1] += 1
        steps[last + 1] -= 1
    depths = list(accumulate(steps))[: len(lines)]
    return [
        depth + 1 if depth and _CONTINUES.match(line) else depth
        for depth, line in zip(depths, lines, strict=True)
    ]


def _name(node: Node, grammar: Grammar) -> str | None:
    """The name that a definition gives, or None."""
    if _NEEDS_BODY.search(node.type) and node.child_by_field_name("body") is None:
        return None
    if node.type in ("variable_declarator", "field_definition", "public_field_definition"):
        value = node.child_by_field_name("value")
        if value is None or not _FUNCTIONS.search(value.type):
            return None
    if node.type == "function_definition" or node.type == "type_definition":
        named = node.child_by_field_name("name") or _declared(node)
    else:
        fields = map(node.child_by_field_name, ("name", "property", "type"))
        named = next((child for child in fields if child is not None), None)
    if named is None and node.type.startswith("create_"):
        named = next((c for c in node.named_children if c.type == "object_reference"), None)
    if named is None:
        return None
    name = " ".join(_text(named).split())
    if node.type == "impl_item":
        name = name.partition("<")[0]
    receiver = node.child_by_field_name("receiver")
    owner = _RECEIVER.search(_text(receiver)) if receiver is not None else None
    if owner:
        name = f"{owner[1]}{grammar.separator}{name}"
    return name or None


def _declared(node: Node) -> Node | None:
    """The innermost declarator of a definition in C: ``f`` of ``int *f(void)``."""
    inner = node.child_by_field_name("declarator")
    for _ in range(MAX_DEPTH):
        deeper = inner and inner.child_by_field_name("declarator")
        if deeper is None:
            return inner
        inner = deeper
    return None


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")

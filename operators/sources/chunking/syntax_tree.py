"""The places where a text can be cut by its syntax tree; runs in the parser's process.

A comment, decorator or attribute is one piece with the code right below it. Code that the parser
did not understand adds no depth, and a definition with a broken head does not count: such lines are
cut as in any text.
"""

import re
import time
from collections.abc import Sequence
from itertools import accumulate

from tree_sitter import Language, Node, Parser, Point, Tree, TreeCursor

from operators.sources.chunking.definitions import (
    MAX_DEPTH,
    definition_kind,
    definition_name,
    holds_for_the_rest,
    is_absolute,
    leads,
)
from operators.sources.chunking.grammars import GRAMMARS, loaded
from operators.sources.chunking.used_names import Head, used_names

MAX_SYMBOL = 200
"""Characters of a qualified name."""

_SECONDS, _SECONDS_A_BYTE, _MOST_SECONDS = 0.5, 5e-6, 3.0
_READ = 16384

Span = tuple[int, int]  # first and last line
Found = tuple[int, int, str, str, int, tuple[int, int]]
"""A definition: first and last line from 0, qualified name, kind; the line where it begins without
its comments, and the line and column where its signature ends."""

_WRAPPER = re.compile(r"^(decorated_definition|template_declaration|export_statement)$")
_BODY = re.compile(
    r"block|body|(declaration|statement|variant|enumerator|accessor)_list$|^compound_statement$"
    r"|declarations$|^(match|local_binds|structure|signature)$"
)
_CONTINUES = re.compile(
    r"\s*(?:[)\]}{]"
    r"|(?:end|fi|done|esac|else|elif|elsif|elseif|except|finally|catch|rescue|ensure|then)\b"
    r"|#\s*(?:endif|else|elif)\b)",
    re.IGNORECASE,
)


def answer(request: bytes) -> tuple[list[int], list[Found], list[tuple[int, str]] | None] | None:
    r"""The depth of a cut before each line of a text, its definitions and the names that it uses.

    Args:
        request: the name of a grammar, a key of ``GRAMMARS``; a NUL; the text, with ``\n`` at the
            ends of its lines.

    Returns:
        None where the grammar does not load or the parser takes too long. Definitions come by
        first line, the outer before the inner; names as :func:`used_names` gives them.
    """
    named, _, source = request.partition(b"\0")
    name, text = named.decode(), source.decode()
    source = source.replace(b"\0", b" ")
    tree = _parsed(source, loaded(name))
    if tree is None:
        return None
    lines = text.split("\n")
    walk = _Walk(name, source.split(b"\n"))
    spans, definitions = walk.over(tree.walk())
    definitions.sort(key=lambda definition: (definition[0], -definition[1]))
    used = used_names(tree, source, name, walk.heads)
    return _depths(lines, spans), definitions, used


def _parsed(source: bytes, language: Language | None) -> Tree | None:
    if language is None:
        return None
    allowed = min(_SECONDS + _SECONDS_A_BYTE * len(source), _MOST_SECONDS)
    deadline = time.thread_time() + allowed  # CPU time, so that the cuts don't depend on the load

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
        self.row, self.column = node.start_point
        last, column = node.end_point
        self.end = last - 1 if column == 0 and last > self.row else last
        self.wraps = _WRAPPER.match(node.type) is not None
        self.body = not defines and _BODY.search(node.type) is not None
        self.span = span  # of the node, with what leads it
        self.qualifier = qualifier
        self.defines = defines
        self.lead = self.lead_last = -1  # the run of comments above the next child
        self.lead_column = 0
        self.last = -1  # where the child before ends
        self.clauses: tuple[Span, str] | None = None  # the definition that ends with that child


class _Walk:
    """Finds the lines of every piece of syntax of more than one line, and the definitions."""

    def __init__(self, language: str, lines: Sequence[bytes]) -> None:
        self.language = language
        self.grammar = GRAMMARS[language]
        self.types = frozenset(self.grammar.definitions.split())
        self.around = frozenset(self.grammar.around.split())
        self.lines = lines
        written = (number if line.strip() else 0 for number, line in enumerate(lines))
        self.written = list(accumulate(written, max))  # the last line with text up to each line
        self.spans: set[Span] = set()
        self.definitions: dict[tuple[Span, str], Found] = {}
        self.heads: list[Head] = []  # of every clause of a definition

    def over(self, cursor: TreeCursor) -> tuple[set[Span], list[Found]]:
        root = cursor.node
        assert root is not None
        levels, path = [_Level(root, (-1, -1), "", False)], [root.type]
        levels[0].end = -1  # what is a body to the whole text is none of its pieces
        going = cursor.goto_first_child()
        while going:
            node = cursor.node
            assert node is not None
            inner = self._visit(node, levels, path)
            deeper = node.end_point[0] > node.start_point[0] or node.type in self.around
            if deeper and len(levels) < MAX_DEPTH and cursor.goto_first_child():
                levels.append(inner)
                path.append(node.type)
                continue
            while not (going := cursor.goto_next_sibling()):
                done = levels.pop()
                path.pop()
                if not levels or not cursor.goto_parent():
                    break
                self._hand_on(done, levels[-1])
        return self.spans, list(self.definitions.values())

    def _visit(self, node: Node, levels: Sequence[_Level], path: Sequence[str]) -> _Level:
        level = levels[-1]
        about = leads(node, self.language)
        span, leading = self._span(node, level, about)
        qualifier = level.qualifier
        defines = not leading and node.type in self.types
        named = definition_name(node, self.language, path) if defines else None
        if named:
            if qualifier and not is_absolute(node):
                named = f"{qualifier}{self.grammar.separator}{named}"
            qualifier = named[:MAX_SYMBOL]
            kind = definition_kind(node)
            self._define(span, qualifier, kind, self._signature(node, level), level)
            if holds_for_the_rest(node):
                level.qualifier = qualifier
        elif node.is_named and not about:
            level.clauses = None
        inner = _Level(node, span, qualifier, defines)
        if span[1] > span[0] and not node.is_error:
            if not (inner.body and inner.end >= level.end - 1):
                self.spans.add(span)
        elif span[1] > span[0]:
            self._distrust(levels)
        if leading and level.lead < level.lead_last:
            self.spans.add((level.lead, level.lead_last))
        return inner

    def _signature(self, node: Node, level: _Level) -> tuple[int, tuple[int, int]]:
        """Where a definition begins, with its decorators, and where its body does."""
        first = level.row if level.wraps else node.start_point[0]
        body = node.child_by_field_name("body") or next(
            (child for child in node.children if _BODY.search(child.type)), None
        )
        if body is None or body.start_point[0] < first:
            return first, (node.start_point[0] + 1, 0)
        row, column = body.start_point
        return first, (row, len(self.lines[row][:column].decode("utf-8", "replace")))

    def _define(
        self,
        span: Span,
        name: str,
        kind: str,
        signature: tuple[int, tuple[int, int]],
        level: _Level,
    ) -> None:
        """Record a definition; extend the previous one if both are clauses of one."""
        self.heads.append((name, signature[0], signature[1][0]))
        before = level.clauses
        if self.grammar.clauses and before in self.definitions and before[1] == name:
            signature = self.definitions.pop(before)[4:]
            self.spans.discard(before[0])
            span = (before[0][0], span[1])
            if span[1] > span[0]:
                self.spans.add(span)
        level.clauses = (span, name)
        self.definitions[level.clauses] = (*span, name, kind, *signature)

    def _hand_on(self, done: _Level, level: _Level) -> None:
        """Move comments that end a node, not indented deeper than it, to the following node.

        Grammars of languages with significant indentation put them at the end of the node.
        """
        beside = done.lead_column <= done.column - done.body
        if done.lead_last < 0 or not beside or done.lead <= done.row:
            return
        level.lead, level.lead_last = done.lead, done.lead_last
        level.lead_column = done.lead_column
        first = done.span[0]
        shorter = (first, max(first, self.written[done.lead - 1]))
        if done.span in self.spans:
            self.spans.discard(done.span)
            if shorter[1] > first:
                self.spans.add(shorter)
        if definition := self.definitions.pop((done.span, done.qualifier), None):
            level.clauses = (shorter, done.qualifier)
            self.definitions[level.clauses] = (*shorter, *definition[2:])

    def _distrust(self, levels: Sequence[_Level]) -> None:
        """Drop the pieces whose head, not only their body, the parser did not understand."""
        for level in reversed(levels):
            if level.body:
                return
            self.spans.discard(level.span)
            if level.defines:
                self.definitions.pop((level.span, level.qualifier), None)

    def _span(self, node: Node, level: _Level, leading: bool) -> tuple[Span, bool]:
        """The lines of a child with the comments above it, and whether it is a comment itself."""
        (first, at), (last, column) = node.start_point, node.end_point
        apart = column == 0 or (node.child_count and not self.lines[last][:column].strip())
        if last > first and apart:  # it ends where the next token begins
            last = max(first, self.written[last - 1])
        alone = first > level.last
        level.last = last
        follows = level.lead_last >= 0 and first <= level.lead_last + 1
        if leading:
            if alone and not follows:
                starts = first == level.row and level.span[0] >= 0
                level.lead = level.span[0] if starts else first
                level.lead_column = at
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

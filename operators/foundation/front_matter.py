"""The front matter of a text: YAML between ``---`` lines or TOML between ``+++`` lines.

It is untrusted, so the parsers have as few features as possible. PyYAML's ``BaseLoader`` reads
YAML: in pure Python (64,000 brackets overflow the stack of the C loader and end the process), and
without a resolver. Every scalar stays a string, so that ``version: 1.10`` is not 1.1 and
``12:30:45`` not 45045. Aliases, anchors and tags are refused. The first of repeated keys wins.
"""

import re
import tomllib
from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from yaml import AliasEvent, BaseLoader, CollectionStartEvent, Node, ScalarNode, YAMLError

from operators.errors import CrosscorpusError

MAX_SIZE = 32 * 1024
"""Maximum characters between the fences."""
MAX_DEPTH = 16
"""Maximum nesting of collections."""

_TOO_DEEP = f"front matter is nested deeper than {MAX_DEPTH}"

Value: TypeAlias = "str | list[Value] | dict[str, Value]"

_OPENING = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*(?:\r\n?|\n)")
_CLOSING = {
    "---": re.compile(r"(?:^|(?<=[\r\n]))(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)"),
    "+++": re.compile(r"(?:^|(?<=[\r\n]))\+\+\+[ \t]*(?:\r\n?|\n|\Z)"),
}
_BRACKET = re.compile(r"[\[\]{}]")
# The cost of a TOML key grows with the square of its parts.
_LONG_KEY = re.compile(
    rf"(?<![\w-])(?:(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')[ \t]*\.[ \t]*){{{MAX_DEPTH}}}", re.ASCII
)
_LINE = {
    "yaml": re.compile(r"^([A-Za-z_][\w.-]*)[ \t]*:[ \t]+(\S.*)$", re.M | re.ASCII),
    "toml": re.compile(r"^([A-Za-z_][\w-]*)[ \t]*=[ \t]*(\S.*)$", re.M | re.ASCII),
}


class FrontMatterRefused(CrosscorpusError, ValueError):
    """Front matter that is damaged or of a refused form; the message says why."""


class Block(NamedTuple):
    """Front matter: its language, its text (cut where it is too long to be read) and its end."""

    language: Literal["yaml", "toml"]
    text: str
    end: int  # index of the first character after the closing fence's line


def find_front_matter(text: str) -> Block | None:
    r"""The block at the very start of ``text``, if both fences are there.

    A byte-order mark before it and any line ending are accepted.

    >>> find_front_matter("---\ndate: 2020-01-01\n---\nbody")
    Block(language='yaml', text='date: 2020-01-01\n', end=25)
    """
    opening = _OPENING.match(text)
    closing = opening and _CLOSING[opening[1]].search(text, opening.end())
    if opening is None or closing is None:
        return None
    inner = text[opening.end() : closing.start()].replace("\r\n", "\n").replace("\r", "\n")
    return Block("toml" if opening[1] == "+++" else "yaml", inner[: MAX_SIZE + 1], closing.end())


def front_matter_lines(text: str) -> int:
    r"""The number of lines of ``text`` that are front matter.

    >>> front_matter_lines("---\ndate: 2020-01-01\n---\nbody"), front_matter_lines("body")
    (3, 0)
    """
    block = find_front_matter(text)
    return text.count("\n", 0, block.end) if block else 0


def parse_block(block: Block) -> dict[str, Value]:
    r"""The keys and values of a block, every scalar as a string.

    >>> parse_block(Block("yaml", "version: 1.10\ntags: [a, b]\n", 0))
    {'version': '1.10', 'tags': ['a', 'b']}

    Raises:
        FrontMatterRefused: over 32 KiB, nested deeper than 16, damaged, not a mapping, a YAML
            alias, anchor or tag, a key that is no string.
    """
    if len(block.text) > MAX_SIZE:
        raise FrontMatterRefused(f"front matter is longer than {MAX_SIZE} characters")
    depth = 0
    for bracket in _BRACKET.finditer(block.text):
        depth = depth + 1 if bracket[0] in "[{" else max(0, depth - 1)
        if depth > MAX_DEPTH:
            raise FrontMatterRefused(_TOO_DEEP)
    try:
        toml = block.language == "toml"
        fields = _toml(block.text) if toml else _StringLoader(block.text).get_data()
    except FrontMatterRefused:
        raise
    except (YAMLError, RecursionError, ValueError) as exc:  # TOML's error is a ValueError
        reason = " ".join(str(exc).split())[:120]
        raise FrontMatterRefused(f"damaged {block.language} front matter: {reason}") from None
    if not fields:
        return {}
    if not isinstance(fields, dict):
        raise FrontMatterRefused("front matter is not a mapping")
    return fields


def stated_title(text: str) -> str | None:
    """The ``title`` of a text's front matter."""
    block = find_front_matter(text)
    title = None if block is None else block_fields(block).get("title")
    return " ".join(title.split()) or None if isinstance(title, str) else None


@lru_cache(maxsize=1)  # title, date and version of one document are read one after the other
def block_fields(block: Block) -> Mapping[str, Value]:
    """The keys and values of a block; of a refused one its :func:`plain_lines`."""
    try:
        return parse_block(block)
    except FrontMatterRefused:
        return plain_lines(block)


def plain_lines(block: Block) -> dict[str, str]:
    """The ``key: value`` lines at the outermost level, for a block that is refused as a whole.

    One unquoted colon in a title makes a whole block invalid; its date is still good.
    """
    text = block.text[:MAX_SIZE]
    if block.language == "toml":
        text = re.split(r"(?m)^[ \t]*\[", text, maxsplit=1)[0]
    fields: dict[str, str] = {}
    for match in _LINE[block.language].finditer(text):
        value = re.split(r"[ \t]#", match[2], maxsplit=1)[0]
        fields.setdefault(match[1], value.strip(" \t'\""))
    return fields


def _toml(text: str) -> Value:
    if _LONG_KEY.search(text):
        raise FrontMatterRefused(_TOO_DEEP)
    return _strings(tomllib.loads(text, parse_float=str))


def _strings(value: object, depth: int = 0) -> Value:
    if depth > MAX_DEPTH:
        raise FrontMatterRefused(_TOO_DEEP)
    if isinstance(value, dict):
        return {key: _strings(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [_strings(inner, depth + 1) for inner in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


class _StringLoader(BaseLoader):
    """PyYAML's loader that leaves scalars unchanged, and refuses aliases, anchors and tags.

    It checks each node before it composes it, so that deep nesting ends at ``MAX_DEPTH``.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, AliasEvent):
            raise FrontMatterRefused("front matter has an alias; write the value out")
        if event.anchor is not None:
            raise FrontMatterRefused("front matter has an anchor; leave it out")
        if event.tag is not None:
            raise FrontMatterRefused("front matter has a tag; leave it out")
        nested = isinstance(event, CollectionStartEvent)
        self._depth += nested
        if self._depth > MAX_DEPTH:
            raise FrontMatterRefused(_TOO_DEEP)
        node = super().compose_node(parent, index)
        self._depth -= nested
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        mapping: dict[Hashable, Any] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                raise FrontMatterRefused("front matter has a key that is no string")
            mapping.setdefault(key.value, self.construct_object(value, deep=deep))
        return mapping

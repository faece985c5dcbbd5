"""Which paragraph styles of a Word document are headings, and of which level."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

DEEPEST = 6
"""The level of the deepest heading that a text can mark."""

# Word's own style is "heading 1" in every language. Other writers translate the name, and an
# identifier has lost its space and the letters beyond ASCII.
_HEADING = re.compile(
    r"(?:heading|(?:ü|u)?berschrift|titre|t[ií]tulo|titolo|kop|rubrik|overskrift|otsikko"
    r"|nag(?:ł|l)?(?:ó|o)?wek|nadpis|ba(?:ş|s)?l(?:ı|i)?k|c(?:í|i)?msor|заголовок"
    r"|标题|標題|見出し|제목) ?([1-6])",
    re.I,
)
_TITLE = re.compile(r"title|document title", re.I)


@dataclass(slots=True)
class _Style:
    name: str = ""
    based_on: str | None = None
    outline: str | None = None


class Styles:
    """Handles the events of the styles part, for :meth:`level`."""

    def __init__(self) -> None:
        self._styles: dict[str, _Style] = {}
        self._style = _Style()

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Open a style, or read a property of the open one."""
        value = attributes.get("val", "")
        if tag == "w:style":
            self._style = _Style()
            if attributes.get("type", "paragraph") == "paragraph":
                self._styles[attributes.get("styleId", "")] = self._style
        elif tag == "w:name":
            self._style.name = value
        elif tag == "w:basedOn":
            self._style.based_on = value
        elif tag == "w:outlineLvl":
            self._style.outline = value

    def data(self, text: str) -> None:
        """Ignore text."""

    def end(self, tag: str) -> None:
        """Close a style."""
        if tag == "w:style":
            self._style = _Style()

    def level(self, style: str | None) -> int:
        """The level of the headings of a style, from 1 to ``DEEPEST``; 0 for other text.

        The name of a style decides, then its outline level, then the style that it is based on. A
        style that the document does not define is judged by its identifier.
        """
        seen: set[str] = set()
        while style is not None and style not in seen:
            seen.add(style)
            definition = self._styles.get(style)
            if level := _named(definition.name if definition else style):
                return level
            if definition is None:
                return 0
            if definition.outline is not None:
                return outline_level(definition.outline)
            style = definition.based_on
        return 0


def outline_level(value: str) -> int:
    """The heading level of a ``w:outlineLvl``, which counts from 0 and has 9 for other text.

    >>> outline_level("0"), outline_level("9"), outline_level("x")
    (1, 0, 0)
    """
    return int(value) + 1 if re.fullmatch(r"[0-5]", value) else 0


def _named(name: str) -> int:
    if _TITLE.fullmatch(name):
        return 1
    match = _HEADING.fullmatch(name)
    return int(match[1]) if match else 0

"""The text of one part of a Word document, block by block.

Tracked changes count as accepted: text that was deleted or moved away is left out. A text box comes
before the paragraph that it is in, a note after the paragraph that refers to it.
"""

import re
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree.ElementTree import TreeBuilder

from operators.sources.formats.word.formulas import formula_text
from operators.sources.formats.word.styles import Styles, outline_level
from operators.sources.formats.word.symbols import symbol_text

_BRANCHES = ("mc:Choice", "mc:Fallback")  # of an AlternateContent; they say the same
_LEFT_OUT = frozenset(("w:del", "w:moveFrom"))
_FORMER = "Change"  # the end of the tags with what a tracked change replaced
_AS_TEXT = {
    "w:tab": "\t",
    "w:ptab": "\t",
    "w:br": "\n",
    "w:cr": "\n",
    "w:noBreakHyphen": "-",
    "w:rt": "(",  # how to read the characters before it
}
_NOTES = {"w:footnote": "", "w:endnote": "", "w:comment": "Comment"}
_REFERENCES = {f"{tag}Reference": tag for tag in _NOTES}
_HYPHENS = {0x2011: "-", 0xAD: None}  # one that never breaks, one that is seen at a break only
_LOOKS_LIKE_HEADING = re.compile(r"^(?=#{1,6} )", re.M)

NoteKey = tuple[str, str]
"""The tag and the identifier of a note."""


class Block(NamedTuple):
    """A paragraph, or the rows of a table; its level is 0 unless it is a heading."""

    level: int
    text: str


def marked(blocks: Iterable[Block]) -> str:
    """Blocks with empty lines between them; a heading is marked as in Markdown, nothing else is."""
    return "\n\n".join(
        f"{'#' * level} {_line(text)}" if level else _LOOKS_LIKE_HEADING.sub(" ", text)
        for level, text in blocks
    )


@dataclass(slots=True)
class _Paragraph:
    parts: list[str] = field(default_factory=list)
    style: str | None = None
    outline: str | None = None
    notes: list[NoteKey] = field(default_factory=list)
    goes_on: bool = False  # its end was deleted: the next paragraph continues it


@dataclass(slots=True)
class _Container:
    """A body, a cell or a note."""

    blocks: list[Block] = field(default_factory=list)
    structured: bool = False  # it holds a heading or a table

    def line(self) -> str:
        return " ".join(_line(block.text) for block in self.blocks)


@dataclass(slots=True)
class _Table:
    lines: list[str] = field(default_factory=list)
    rows: list[list[_Container]] = field(default_factory=list)  # the open ones
    deleted: bool = False  # the open row is


class PartText:
    """Handles the events of a part.

    Args:
        styles: the styles of the document.
        notes: by identifier; those that the part refers to are taken out.
    """

    def __init__(self, styles: Styles, notes: MutableMapping[NoteKey, str] | None = None) -> None:
        self.root: str | None = None  # the tag of the outermost element
        self.notes: dict[NoteKey, str] = {}  # that the part itself holds
        self._styles, self._referred = styles, {} if notes is None else notes
        self._open: list[str] = []
        self._paragraphs: list[_Paragraph] = []
        self._containers = [_Container()]
        self._tables: list[_Table] = []
        self._note: tuple[NoteKey, str] | None = None
        self._formula: TreeBuilder | None = None
        self._formulas = 0  # elements around, from the formula on
        self._chosen = [False]  # whether each open AlternateContent has had a branch
        self._skipped = 0  # elements around, from the skipped one on
        self._continued: list[str] = []  # of paragraphs whose end was deleted

    def blocks(self) -> list[Block]:
        """The blocks of the part, without its notes."""
        if rest := "".join(self._continued).strip():
            self._continued = []
            self._containers[0].blocks.append(Block(0, rest))
        return self._containers[0].blocks

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Open an element, or count it if it is skipped."""
        self._open.append(tag)
        self.root = self.root or tag
        if self._skipped:
            self._skipped += 1
        elif tag in _LEFT_OUT or tag.endswith(_FORMER) or (tag in _BRANCHES and self._chosen[-1]):
            self._skipped = 1
            self._deleted_mark()
        elif self._formula is not None:
            self._formulas += 1
            self._formula.start(tag, dict(attributes))
        elif tag == "m:oMath" and self._paragraphs:
            self._formula, self._formulas = TreeBuilder(), 1
            self._formula.start(tag, {})
        elif tag == "mc:AlternateContent":
            self._chosen.append(False)
        elif tag in _BRANCHES:
            self._chosen[-1] = True
        elif not self._start_container(tag, attributes) and self._paragraphs:
            self._start_within(self._paragraphs[-1], tag, attributes)

    def data(self, text: str) -> None:
        """Read the text of a text element."""
        if self._skipped:
            return
        if self._formula is not None:
            self._formula.data(text)
        elif self._open[-1] in ("w:t", "m:t") and self._paragraphs:
            self._paragraphs[-1].parts.append(text)

    def end(self, tag: str) -> None:
        """Close an element: a paragraph, a cell, a row, a table or a note is complete."""
        self._open.pop()
        if self._skipped:
            self._skipped -= 1
        elif self._formula is not None:
            self._end_in_formula(self._formula, tag)
        elif tag == "mc:AlternateContent":
            self._chosen.pop()
        elif tag == "w:rt" and self._paragraphs:
            self._paragraphs[-1].parts.append(")")
        elif tag == "w:p":
            self._end_paragraph(self._paragraphs.pop())
        elif tag == "w:tc":
            self._end_cell(self._containers.pop())
        elif tag == "w:tr" and self._tables and self._tables[-1].rows:
            self._end_row(self._tables[-1])
        elif tag == "w:tbl":
            self._end_table(self._tables.pop())
        elif tag in _NOTES and self._note:
            (key, prefix), self._note = self._note, None
            text = "\n".join(block.text for block in self._containers.pop().blocks)
            if text:
                self.notes[key] = prefix + text

    def _start_container(self, tag: str, attributes: Mapping[str, str]) -> bool:
        if tag == "w:p":
            self._paragraphs.append(_Paragraph(self._continued))
            self._continued = []
        elif tag == "w:tbl":
            self._tables.append(_Table())
        elif tag == "w:tr" and self._tables:
            self._tables[-1].rows.append([])
        elif tag == "w:tc":
            self._containers.append(_Container())
        elif tag in _NOTES and self._note is None:
            author = attributes.get("author", "").strip()
            label = f"{_NOTES[tag]} by {author}" if author else _NOTES[tag]
            self._note = (tag, attributes.get("id", "")), f"{label}: " if _NOTES[tag] else ""
            self._containers.append(_Container())
        else:
            return False
        return True

    def _start_within(self, paragraph: _Paragraph, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _AS_TEXT:
            if self._open[-2:-1] != ["w:tabs"]:  # there a tab is a stop
                paragraph.parts.append(_AS_TEXT[tag])
        elif tag == "w:sym":
            symbol = symbol_text(attributes.get("font", ""), attributes.get("char", ""))
            paragraph.parts.append(symbol)
        elif tag == "w:pStyle" and paragraph.style is None:
            paragraph.style = attributes.get("val", "")
        elif tag == "w:outlineLvl":
            paragraph.outline = attributes.get("val", "")
        elif tag in _REFERENCES:
            paragraph.notes.append((_REFERENCES[tag], attributes.get("id", "")))

    def _deleted_mark(self) -> None:
        """Check whether the end of a paragraph or a row of a table was deleted."""
        around = self._open[-3:]
        if around[:2] == ["w:pPr", "w:rPr"] and around[2] in _LEFT_OUT and self._paragraphs:
            self._paragraphs[-1].goes_on = True
        elif around[1:] == ["w:trPr", "w:del"] and self._tables:
            self._tables[-1].deleted = True

    def _end_in_formula(self, formula: TreeBuilder, tag: str) -> None:
        formula.end(tag)
        self._formulas -= 1
        if not self._formulas:
            self._formula = None
            self._paragraphs[-1].parts.append(formula_text(formula.close()))

    def _end_paragraph(self, paragraph: _Paragraph) -> None:
        if paragraph.goes_on:
            self._continued = paragraph.parts
        elif text := "".join(paragraph.parts).translate(_HYPHENS).strip():
            if paragraph.outline is not None:
                level = outline_level(paragraph.outline)
            else:
                level = self._styles.level(paragraph.style)
            self._add(Block(level, text), structured=level > 0)
        for key in paragraph.notes:
            if note := self._referred.pop(key, None):  # once, however often it is referred to
                self._add(Block(0, note))

    def _end_cell(self, cell: _Container) -> None:
        if self._tables and self._tables[-1].rows:
            self._tables[-1].rows[-1].append(cell)
        else:
            self._containers[-1].blocks += cell.blocks

    def _end_row(self, table: _Table) -> None:
        cells, deleted, table.deleted = table.rows.pop(), table.deleted, False
        if deleted:
            return
        if len(cells) == 1 or any(cell.structured and len(cell.blocks) > 1 for cell in cells):
            self._end_lines(table)  # the table is there for the layout of the page
            for cell in cells:
                for block in cell.blocks:
                    self._add(block, structured=cell.structured)
        elif any(cell.blocks for cell in cells):
            table.lines.append(" | ".join(cell.line() for cell in cells))

    def _end_table(self, table: _Table) -> None:
        self._end_lines(table)
        self._containers[-1].structured = True

    def _end_lines(self, table: _Table) -> None:
        if table.lines:
            self._add(Block(0, "\n".join(table.lines)), structured=True)
            table.lines = []

    def _add(self, block: Block, structured: bool = False) -> None:
        container = self._containers[-1]
        container.blocks.append(block)
        container.structured |= structured


def _line(text: str) -> str:
    return " ".join(text.split())

"""The text of a Word document (.docx): its paragraphs, headings marked as Markdown does.

A .docx is a ZIP of XML. It is read here with bounds, without entities, a network or a tree: a ZIP
may unpack to a thousand times its size, and XML may nest without end.
"""

import io
import zipfile
from collections.abc import Mapping
from typing import NamedTuple
from xml.parsers import expat

MAX_XML = 50_000_000
"""Bytes of one part, unpacked."""
MAX_DEPTH = 256
"""Elements within elements."""

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main "
_MC = "http://schemas.openxmlformats.org/markup-compatibility/2006 "
_BRANCHES = (f"{_MC}Choice", f"{_MC}Fallback")  # of an AlternateContent; they say the same
_DATES = ("http://purl.org/dc/terms/ created", "http://purl.org/dc/terms/ modified")
_BREAKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n"}
_MARKS = {"Title": "# "} | {f"Heading{level}": f"{'#' * level} " for level in range(1, 7)}
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # of others zipfile unpacks all at once


class Word(NamedTuple):
    """A document's text, its first heading, and when it says it was created and modified."""

    text: str
    title: str | None
    dates: tuple[str | None, str | None]


def read_docx(data: bytes) -> Word:
    """Read a .docx; a text box comes before the paragraph that it is in.

    Raises:
        ValueError: it is no .docx, is damaged, or unpacks to more than ``MAX_XML`` bytes.
    """
    body, core = _Text(), _Text()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if not _read(archive, "word/document.xml", body):
                raise ValueError("it has no word/document.xml")
            _read(archive, "docProps/core.xml", core)
    except Exception as error:  # also zlib's, a codec's, and what an offset without sense does
        raise ValueError(f"not a readable .docx: {' '.join(str(error).split())}") from None
    headings = (line.lstrip("# ") for line in body.lines if line.startswith("#"))
    created, modified = (core.dates.get(name) for name in _DATES)
    return Word("\n\n".join(body.lines), next(headings, None), (created, modified))


def _read(archive: zipfile.ZipFile, name: str, target: "_Text") -> bool:
    """Feed the part ``name`` to ``target``; return whether there is such a part."""
    if name not in archive.namelist():
        return False
    if archive.getinfo(name).compress_type not in _PACKED:
        raise ValueError(f"{name} is packed in a way that Word does not use")
    with archive.open(name) as stream:
        data = stream.read(MAX_XML + 1)
    if len(data) > MAX_XML:
        raise ValueError(f"{name} unpacks to more than {MAX_XML} bytes")
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = target.start, target.end
    parser.CharacterDataHandler = target.data
    parser.DefaultHandler = lambda _: None  # so that no entity is expanded
    parser.Parse(data, True)
    return True


class _Text:
    """Takes the events of a parser: each text once, in the innermost paragraph around it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.dates: dict[str, str] = {}
        self._open: list[str] = []
        self._paragraphs: list[tuple[list[str], list[str]]] = []  # the open ones: styles, text
        self._chosen = [False]  # whether each open AlternateContent has had a branch
        self._skipped = 0  # elements around, from the one on that is passed over

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._open.append(tag)
        if len(self._open) > MAX_DEPTH:
            raise ValueError(f"its XML is nested deeper than {MAX_DEPTH}")
        if self._skipped or tag == f"{_W}pPrChange" or (tag in _BRANCHES and self._chosen[-1]):
            self._skipped += 1
        elif tag == f"{_MC}AlternateContent":
            self._chosen.append(False)
        elif tag in _BRANCHES:
            self._chosen[-1] = True
        elif tag == f"{_W}p":
            self._paragraphs.append(([], []))
        elif tag == f"{_W}pStyle" and self._paragraphs:
            self._paragraphs[-1][0].append(attributes.get(f"{_W}val", ""))
        elif tag in _BREAKS and self._paragraphs:
            self._paragraphs[-1][1].append(_BREAKS[tag])

    def data(self, data: str) -> None:
        tag = self._open[-1]
        if tag == f"{_W}t" and self._paragraphs and not self._skipped:
            self._paragraphs[-1][1].append(data)
        elif tag in _DATES:
            self.dates.setdefault(tag, data)

    def end(self, tag: str) -> None:
        self._open.pop()
        if self._skipped:
            self._skipped -= 1
        elif tag == f"{_MC}AlternateContent":
            self._chosen.pop()
        elif tag == f"{_W}p":
            styles, parts = self._paragraphs.pop()
            if text := "".join(parts).strip():
                self.lines.append(_MARKS.get("".join(styles[:1]), "") + text)

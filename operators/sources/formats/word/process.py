"""Runs in the process that reads Word documents: hostile bytes in, text out."""

import io
import zipfile
from collections.abc import Mapping
from typing import Any

from operators.sources.formats.word.package import Package
from operators.sources.formats.word.styles import Styles
from operators.sources.formats.word.text import Block, NoteKey, PartText, marked

_ENCRYPTED = b"\xd0\xcf\x11\xe0"  # a compound file holds a .doc, or a .docx with a password


def answer(request: bytes) -> dict[str, Any]:
    """The reply to a .docx: ``text``, ``title`` and ``dates``, or ``failed`` with a line why."""
    try:
        return read(request)
    except MemoryError:
        return {"failed": "it takes more memory than allowed"}
    except Exception as error:  # also zlib's, a codec's, and those of an invalid offset
        return {"failed": " ".join(str(error).split()) or type(error).__name__}


def read(data: bytes) -> dict[str, Any]:
    """The text, the title and the dates of a .docx.

    Footnotes, endnotes and comments to which nothing refers, headers and footers come last.

    Raises:
        ValueError: it is no Word document, or goes beyond a limit of ``package``.
        Exception: any error of a parser on a damaged archive or part.
    """
    if data.startswith(_ENCRYPTED):
        raise ValueError("it has a password or is a .doc: save it as .docx without a password")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        package = Package(archive)
        styles = Styles()
        for part in package.parts("styles"):
            package.parse(part, styles)
        notes = _notes(package, styles)
        body = PartText(styles, notes)
        package.parse(package.main, body)
        if body.root != "w:document":
            raise ValueError(f"{package.main} is not the text of a Word document")
        blocks = body.blocks()
        title = next((block.text for block in blocks if block.level), None)
        last = [Block(0, note) for note in notes.values()]
        pages = _headers_and_footers(package, styles)
        dates = _Dates()
        for part in package.core_properties():
            package.parse(part, dates)
    return {
        "text": marked([*blocks, *last, *pages]),
        "title": title and " ".join(title.split()),
        "dates": [dates.found.get("dcterms:created"), dates.found.get("dcterms:modified")],
    }


def _notes(package: Package, styles: Styles) -> dict[NoteKey, str]:
    notes: dict[NoteKey, str] = {}
    for kind in ("footnotes", "endnotes", "comments"):
        for part in package.parts(kind):
            held = PartText(styles)
            package.parse(part, held)
            notes |= held.notes
    return notes


def _headers_and_footers(package: Package, styles: Styles) -> list[Block]:
    """Each text once: the first page, odd and even pages often have the same."""
    blocks: dict[Block, None] = {}
    for kind in ("header", "footer"):
        for part in package.parts(kind):
            held = PartText(styles)
            package.parse(part, held)
            blocks |= dict.fromkeys(Block(0, block.text) for block in held.blocks())
    return list(blocks)


class _Dates:
    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        self._tag = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._tag = tag

    def data(self, text: str) -> None:
        if self._tag.startswith("dcterms:"):
            self.found.setdefault(self._tag, text)

    def end(self, tag: str) -> None:
        self._tag = ""

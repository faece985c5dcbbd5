"""The text of a Word document (.docx): its paragraphs, headings marked as Markdown does.

A .docx is a ZIP of XML. It is read here with bounds, without entities and without a network: what
a ZIP unpacks to may be a thousand times its size, and XML may nest without end.
"""

import io
import zipfile
from typing import NamedTuple

from lxml import etree

MAX_XML = 50_000_000
"""Bytes of one part, unpacked."""

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DATES = ("{http://purl.org/dc/terms/}created", "{http://purl.org/dc/terms/}modified")
_BREAKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n"}


class Word(NamedTuple):
    """A document's text, its first heading, and when it says it was created and modified."""

    text: str
    title: str | None
    dates: tuple[str | None, str | None]


def read_docx(data: bytes) -> Word:
    """Read a .docx.

    Raises:
        ValueError: it is no .docx, is damaged, or unpacks to more than ``MAX_XML`` bytes.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            body = _part(archive, "word/document.xml")
            if body is None:
                raise ValueError("not a Word document: it has no word/document.xml")
            core = _part(archive, "docProps/core.xml")
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"not a readable .docx: {error}") from None
    lines = [_line(paragraph) for paragraph in body.iter(f"{_W}p")]
    headings = [line.lstrip("# ") for line in lines if line.startswith("#")]
    created, modified = (None if core is None else core.findtext(f".//{name}") for name in _DATES)
    return Word("\n\n".join(filter(None, lines)), next(iter(headings), None), (created, modified))


def _part(archive: zipfile.ZipFile, name: str) -> etree._Element | None:
    if name not in archive.namelist():
        return None
    with archive.open(name) as stream:
        data = stream.read(MAX_XML + 1)
    if len(data) > MAX_XML:
        raise ValueError(f"{name} unpacks to more than {MAX_XML} bytes")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise ValueError(f"{name} is no XML: {error}") from None


def _line(paragraph: etree._Element) -> str:
    text = "".join(
        _BREAKS.get(part.tag, part.text or "") for part in paragraph.iter(f"{_W}t", *_BREAKS)
    ).strip()
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    name = "" if style is None else style.get(f"{_W}val", "")
    level = name.removeprefix("Heading")
    if text and name == "Title":
        return f"# {text}"
    return f"{'#' * int(level)} {text}" if text and level in "123456" and level else text

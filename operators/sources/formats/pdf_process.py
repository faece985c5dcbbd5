"""Runs in the process that reads PDFs: hostile bytes in, text out."""

import json
from contextlib import closing
from typing import Any

import pypdfium2

from operators.sources.formats.pdf_page import page_text

MAX_OUTLINE = 5_000
OUTLINE_DEPTH = 6
_LOCKED = {4: "it asks for a password", 5: "by a scheme that is not known"}  # FPDF_ERR_*
_INFO = ("Title", "Author", "CreationDate", "ModDate")


class _TooMuch(Exception):
    pass


def answer(request: bytes) -> dict[str, Any]:
    """The reply to a request: limits as a line of JSON, then a PDF.

    A reply has ``state`` (``text``, ``no_text``, ``encrypted``, ``failed``), ``reason``, and of a
    text ``pages``, ``info``, ``outline`` and ``unread`` as :class:`PdfText` has them.
    """
    limits, _, data = request.partition(b"\n")
    try:
        return _read(data, json.loads(limits))
    except _TooMuch as exc:
        return _failed(str(exc))
    except MemoryError:
        return _failed("more memory than allowed")


def _read(data: bytes, limits: dict[str, int]) -> dict[str, Any]:
    try:
        content = _with_pdfium(data, limits)
    except pypdfium2.PdfiumError as exc:
        if locked := _LOCKED.get(getattr(exc, "err_code", None) or 0):
            return {"state": "encrypted", "reason": locked}
        return _failed(f"damaged: its text is lost: {exc} `qpdf IN OUT` mends many files")
    pages = content["pages"]
    unread = [number for number, page in enumerate(pages, start=1) if page is None]
    if len(unread) == len(pages):
        return _failed(f"damaged: its text is lost: none of {len(pages)} pages can be read")
    if not any(c.isalnum() for page in pages if page for c in page):
        many = "its page has" if len(pages) == 1 else f"its {len(pages)} pages have"
        return {"state": "no_text", "reason": f"{many} no text: scanned?"}
    return {**content, "state": "text", "pages": [page or "" for page in pages], "unread": unread}


def _failed(reason: str) -> dict[str, Any]:
    return {"state": "failed", "reason": reason}


def _with_pdfium(data: bytes, limits: dict[str, int]) -> dict[str, Any]:
    with closing(pypdfium2.PdfDocument(data)) as document:
        if len(document) > limits["pages"]:
            raise _TooMuch(f"more than {limits['pages']} pages")
        pages: list[str | None] = []
        total = 0
        for number in range(len(document)):
            pages.append(_page_text(document, number, limits["page_characters"]))
            total += len(pages[-1] or "")
            if total > limits["characters"]:
                raise _TooMuch(f"more than {limits['characters']} characters of text")
        info = document.get_metadata_dict()
        return {
            "pages": pages,
            "info": {key: info[key] for key in _INFO if info.get(key)},
            "outline": _outline(document),
        }


def _page_text(document: Any, number: int, limit: int) -> str | None:
    """A page's text; None if it cannot be read."""
    try:
        with closing(document[number]) as page, closing(page.get_textpage()) as text_page:
            if text_page.count_chars() > limit:
                raise _TooMuch(f"page {number + 1} has more than {limit} characters of text")
            return page_text(page, text_page)
    except pypdfium2.PdfiumError:
        return None


def _outline(document: Any) -> list[tuple[int, str, int]]:
    outline: list[tuple[int, str, int]] = []
    try:
        for entry in document.get_toc(max_depth=OUTLINE_DEPTH):
            target = entry.get_dest()
            index = target.get_index() if target else None
            if index is not None:
                outline.append((entry.level + 1, entry.get_title()[:500], index))
            if len(outline) >= MAX_OUTLINE:
                break
    except (pypdfium2.PdfiumError, RecursionError, ValueError):
        pass  # sections are a help, not the text
    return outline

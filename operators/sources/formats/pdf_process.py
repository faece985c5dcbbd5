"""The process that reads PDFs: hostile bytes come in, text goes out, and it may be killed any time.

Run as a script, not imported by the program: ``python -I pdf_child.py LIMITS`` with the limits as
JSON. A request is a PDF; a reply is a JSON object: ``state`` (``text``, ``no_text``, ``encrypted``,
``failed``), ``reason``, and of a text ``pages``, ``info``, ``outline`` ([level, title, page from
0]), ``unread`` (pages that could not be read, from 1) and ``parser``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pypdfium2

sys.path.insert(0, str(Path(__file__).parents[3]))  # -I leaves it out

from operators.sources.sandbox import serve

MAX_OUTLINE = 5_000
OUTLINE_DEPTH = 6
_LOCKED = {4: "it asks for a password", 5: "by a scheme that is not known"}  # FPDF_ERR_*
_INFO = ("Title", "Author", "CreationDate", "ModDate")


class _TooMuch(Exception):
    pass


def read(data: bytes, limits: dict[str, int]) -> dict[str, Any]:
    """The reply to one PDF."""
    try:
        return _answer(_with_pdfium(data, limits), limits)
    except pypdfium2.PdfiumError as exc:
        if locked := _LOCKED.get(getattr(exc, "err_code", None) or 0):
            return {"state": "encrypted", "reason": locked}
        refusal = str(exc)
    except _TooMuch as exc:
        return {"state": "failed", "reason": str(exc)}
    except MemoryError:
        return {"state": "failed", "reason": "more memory than allowed"}
    try:
        mended = _answer(_with_oxide(data, limits), limits)
        if mended["state"] == "no_text":
            reason = f"damaged: {refusal} Nor does what is left of it have any text"
            return {"state": "failed", "reason": reason}
        return mended
    except _TooMuch as exc:
        return {"state": "failed", "reason": str(exc)}
    except BaseException as exc:  # a panic of its Rust code is no Exception
        return {"state": "failed", "reason": f"damaged: {refusal} {type(exc).__name__}: {exc}"}


def _answer(found: dict[str, Any], limits: dict[str, int]) -> dict[str, Any]:
    pages: list[str | None] = found["pages"]
    unread = [number for number, page in enumerate(pages, start=1) if page is None]
    if unread:
        unread = _second_try(found.pop("data"), pages, limits)
    found.pop("data", None)
    if len(unread) == len(pages):
        return {"state": "failed", "reason": f"damaged: none of {len(pages)} pages can be read"}
    if not any(c.isalnum() for page in pages if page for c in page):
        many = "its page has" if len(pages) == 1 else f"its {len(pages)} pages have"
        return {"state": "no_text", "reason": f"{many} no text: scanned?"}
    return {**found, "state": "text", "pages": [page or "" for page in pages], "unread": unread}


def _with_pdfium(data: bytes, limits: dict[str, int]) -> dict[str, Any]:
    document = pypdfium2.PdfDocument(data)
    try:
        pages: list[str | None] = []
        total = 0
        for number in range(_page_count(len(document), limits)):
            try:
                page = document[number]
            except pypdfium2.PdfiumError:
                pages.append(None)
                continue
            try:
                text = _page_text(page, number, limits)
            except pypdfium2.PdfiumError:
                text = None
            finally:
                page.close()
            total += len(text or "")
            _check_total(total, limits)
            pages.append(text)
        info = document.get_metadata_dict()
        return {
            "pages": pages,
            "info": {key: info[key] for key in _INFO if info.get(key)},
            "outline": _outline(document),
            "parser": "pdfium",
            "data": data,
        }
    finally:
        document.close()


def _page_text(page: Any, number: int, limits: dict[str, int]) -> str:
    text_page = page.get_textpage()
    try:
        _check_page(text_page.count_chars(), number, limits)
        return str(text_page.get_text_bounded())
    finally:
        text_page.close()


def _outline(document: Any) -> list[tuple[int, str, int]]:
    found: list[tuple[int, str, int]] = []
    try:
        for entry in document.get_toc(max_depth=OUTLINE_DEPTH):
            target = entry.get_dest()
            index = target.get_index() if target else None
            if index is not None:
                found.append((entry.level + 1, entry.get_title()[:500], index))
            if len(found) >= MAX_OUTLINE:
                break
    except (pypdfium2.PdfiumError, RecursionError, ValueError):
        pass  # sections are a help, not the text
    return found


def _with_oxide(data: bytes, limits: dict[str, int]) -> dict[str, Any]:
    from pdf_oxide import PdfDocument

    document = PdfDocument.from_bytes(data)
    pages: list[str | None] = []
    total = 0
    for number in range(_page_count(document.page_count(), limits)):
        text = _oxide_page(document, number, limits)
        total += len(text or "")
        _check_total(total, limits)
        pages.append(text)
    return {"pages": pages, "info": {}, "outline": [], "parser": "pdf_oxide", "data": b""}


def _second_try(data: bytes, pages: list[str | None], limits: dict[str, int]) -> list[int]:
    """Read the pages that PDFium refused; return those that stay unread."""
    if data:
        try:
            from pdf_oxide import PdfDocument

            document = PdfDocument.from_bytes(data)
            for number, page in enumerate(pages):
                if page is None:
                    pages[number] = _oxide_page(document, number, limits) or None
        except _TooMuch:
            raise
        except BaseException:  # it refuses too
            pass
    return [number for number, page in enumerate(pages, start=1) if page is None]


def _oxide_page(document: Any, number: int, limits: dict[str, int]) -> str | None:
    try:
        text = str(document.extract_text(number))
    except BaseException:  # a panic of its Rust code is no Exception
        return None
    _check_page(len(text), number, limits)
    return text


def _page_count(count: int, limits: dict[str, int]) -> int:
    if count > limits["pages"]:
        raise _TooMuch(f"more than {limits['pages']} pages")
    return count


def _check_page(characters: int, number: int, limits: dict[str, int]) -> None:
    if characters > limits["page_characters"]:
        raise _TooMuch(
            f"page {number + 1} has more than {limits['page_characters']} characters of text"
        )


def _check_total(characters: int, limits: dict[str, int]) -> None:
    if characters > limits["characters"]:
        raise _TooMuch(f"more than {limits['characters']} characters of text")


if __name__ == "__main__":
    given: dict[str, int] = json.loads(sys.argv[1])
    serve(lambda data: read(data, given), memory_bytes=given["memory_bytes"], cpu_s=given["cpu_s"])

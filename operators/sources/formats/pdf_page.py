"""The text of a PDF's page, as a person reads it: turned upright.

PDFium gives the text of a box, and this text lacks line breaks where lines do not run from left to
right in the page's own coordinates. So what runs another way is turned first: PDFium's objects are
moved in memory, and each direction is read alone. Columns that are drawn row by row are read
across.

========== ======== ==============================================================================
library    ms/page  turned pages, sideways labels, tables
========== ======== ==============================================================================
PDFium     2        as this module reads it, all of them are right.
pdfminer   90       Labels fall into letters, and tables lose their rows.
pdfplumber 150      Lines that run downwards fall into words, and labels are reversed.
pypdf      50       Turned pages and labels are right.
========== ======== ==============================================================================
"""

import ctypes
import math
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pypdfium2.raw as pdfium

Box = tuple[float, float, float, float]
"""Left, bottom, right and top, in points."""

_DEEPEST = 8  # forms within forms
_STRAIGHT = 10  # degrees that a line may lean and still count as one of the four directions
_UPRIGHT = 0
_TILTED = -1  # a direction that is none of the four
_AXES = {0: (1, 0), 90: (0, 1), 180: (-1, 0), 270: (0, -1), _TILTED: (1, 0)}  # cosine, sine
_LINE_BREAK = re.compile(r"\r?\n(?=\S)")


def page_text(page: Any, text_page: Any) -> str:
    """The text of a page of pypdfium2 inside its box, lines end with ``\\r\\n``.

    The direction with the longest text comes first, others follow. The page is changed.

    Raises:
        pypdfium2.PdfiumError: PDFium cannot read it.
    """
    box = page.get_bbox()
    rotated = page.get_rotation() != 0
    if not rotated and not _may_be_turned(text_page):
        return _upright_text(text_page, box)
    directions: dict[int, list[Any]] = {}
    lengths: dict[int, float] = {}
    for text, direction, length in _text_objects(page.raw):
        directions.setdefault(direction, []).append(text)
        lengths[direction] = lengths.get(direction, 0) + length
    if not rotated and directions.keys() <= {_UPRIGHT}:
        return _upright_text(text_page, box)
    longest_first = sorted(directions, key=lambda direction: -lengths[direction])
    texts = [_turned_text(page, box, directions, direction) for direction in longest_first]
    return "\r\n".join(text for text in texts if text.strip())


def _may_be_turned(text_page: Any) -> bool:
    """Whether the first or the last character of a line is not upright."""
    matrix = pdfium.FS_MATRIX()
    for at in _ends_of_lines(text_page.get_text_range()):
        if pdfium.FPDFText_GetCharAngle(text_page.raw, at) > 0:  # letters that lean have it too
            pdfium.FPDFText_GetMatrix(text_page.raw, at, matrix)
            if _direction(matrix.a, matrix.b) != _UPRIGHT:
                return True
    return False


def _ends_of_lines(text: str) -> Iterator[int]:
    """The indexes of the first and the last character of each line."""
    yield 0
    for line_break in _LINE_BREAK.finditer(text):
        yield max(line_break.start() - 1, 0)
        yield line_break.end()
    yield max(len(text.rstrip()) - 1, 0)


def _direction(x: float, y: float) -> int:
    """Degrees, anticlockwise, of a line that runs along (x, y): 0, 90, 180, 270, or _TILTED."""
    if y == 0 <= x:
        return _UPRIGHT
    degrees = math.degrees(math.atan2(y, x))
    quarter = round(degrees / 90)
    return quarter % 4 * 90 if abs(degrees - 90 * quarter) <= _STRAIGHT else _TILTED


def _text_objects(page: Any) -> Iterator[tuple[Any, int, float]]:
    """Each text object of a page and of the forms on it, its direction, its length in points."""
    top = [pdfium.FPDFPage_GetObject(page, n) for n in range(pdfium.FPDFPage_CountObjects(page))]
    waiting = [(one, (1.0, 0.0, 0.0, 1.0), 0) for one in reversed(top)]
    matrix, size = pdfium.FS_MATRIX(), ctypes.c_float()
    corners = [ctypes.c_float() for _ in range(4)]  # left, bottom, right, top
    while waiting:
        one, (a, b, c, d), depth = waiting.pop()
        kind = pdfium.FPDFPageObj_GetType(one)
        if kind not in (pdfium.FPDF_PAGEOBJ_TEXT, pdfium.FPDF_PAGEOBJ_FORM):
            continue
        pdfium.FPDFPageObj_GetMatrix(one, matrix)
        along = (matrix.a * a + matrix.b * c, matrix.a * b + matrix.b * d)
        if kind == pdfium.FPDF_PAGEOBJ_TEXT:
            pdfium.FPDFTextObj_GetFontSize(one, size)
            sign = -1 if size.value < 0 else 1
            pdfium.FPDFPageObj_GetBounds(one, *corners)
            left, bottom, right, upper = (corner.value for corner in corners)
            length = max(right - left, upper - bottom)
            yield one, _direction(sign * along[0], sign * along[1]), length
        elif depth < _DEEPEST:
            inner = (*along, matrix.c * a + matrix.d * c, matrix.c * b + matrix.d * d)
            count = pdfium.FPDFFormObj_CountObjects(one)
            waiting += [
                (pdfium.FPDFFormObj_GetObject(one, n), inner, depth + 1)
                for n in reversed(range(count))
            ]


def _turned_text(page: Any, box: Box, directions: dict[int, list[Any]], shown: int) -> str:
    """The text that runs in the direction ``shown``; the page is turned, read and turned back."""
    for direction, objects in directions.items():
        for one in objects:
            pdfium.FPDFPageObj_SetIsActive(one, direction == shown)
    cosine, sine = _AXES[shown]
    page.set_rotation(0)
    _turn(page, cosine, -sine)
    x = sorted(cosine * box[n] + sine * box[n + 1] for n in (0, 2))
    y = sorted(cosine * box[n + 1] - sine * box[n] for n in (0, 2))
    with closing(page.get_textpage()) as text_page:
        text = _upright_text(text_page, (x[0], y[0], x[1], y[1]))
    _turn(page, cosine, sine)
    return text


def _turn(page: Any, cosine: int, sine: int) -> None:
    for number in range(pdfium.FPDFPage_CountObjects(page.raw)):
        one = pdfium.FPDFPage_GetObject(page.raw, number)
        pdfium.FPDFPageObj_Transform(one, cosine, sine, -sine, cosine, 0, 0)


def _upright_text(text_page: Any, box: Box) -> str:
    """The text of the characters that a box touches."""
    return str(text_page.get_text_bounded(*box))

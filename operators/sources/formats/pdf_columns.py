"""Columns of text on a page, found by the clear strip between them.

A page whose columns are drawn row by row would be read across. A strip counts that lines stand
beside on both sides, if the text on either side reads on from line to line. So a table stays whole:
its cells are short, or each begins anew.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from statistics import median

Box = tuple[float, float, float, float]
"""Left, bottom, right and top, in points."""

_ROWS = 3  # rows that have text on both sides of a strip
_MOST_PIECES = 5_000
_MOST_STRIPS = 50  # that are tried on a page
_WIDEST_GAP = 3.0  # heights of a line between two lines of a column
_LINE_END = re.compile(r"((?<=[^\W\d_])-)? *\r\n")


def in_columns(pieces: list[Box], area: Box, read: Callable[[Box], str]) -> str:
    """The text of an area: what is above columns, each column, what is below them.

    ``pieces`` are the boxes of its text in the order of the page; ``read`` gives the text of a box.
    """
    rows = _side_by_side(pieces) if len(pieces) <= _MOST_PIECES else []
    tried: list[Box] = []
    for row in rows if len(rows) >= _ROWS else ():
        if any(_within(row, strip) for strip in tried):
            continue
        if len(tried) == _MOST_STRIPS:
            break
        strip = _strip(row, pieces)
        tried.append(strip)
        if sum(_within(one, strip) for one in rows) < _ROWS:
            continue
        text = _around(strip, pieces, area, read)
        if text is not None:
            return text
    return read(area)


def _height(pieces: list[Box]) -> float:
    return median([top - bottom for _, bottom, _, top in pieces])


def _side_by_side(pieces: list[Box]) -> list[Box]:
    """The gaps between neighbours in a row that are as wide as a line is high; the topmost first."""
    if len(pieces) < 2:
        return []
    narrowest = _height(pieces)
    found = []
    for (left, bottom, right, top), (left_2, bottom_2, right_2, top_2) in pairwise(pieces):
        if left_2 - right < narrowest and left - right_2 < narrowest:
            continue
        shared = min(top, top_2) - max(bottom, bottom_2)
        if shared >= min(top - bottom, top_2 - bottom_2) / 4:
            begin, end = min(right, right_2), max(left, left_2)
            found.append((begin, min(bottom, bottom_2), end, max(top, top_2)))
    return sorted(found, key=lambda gap: -gap[3])


def _within(row: Box, strip: Box) -> bool:
    """Whether a gap in a row is a part of a strip."""
    middle = (row[1] + row[3]) / 2
    return row[0] <= strip[0] and strip[2] <= row[2] and strip[1] <= middle <= strip[3]


def _strip(row: Box, pieces: list[Box]) -> Box:
    """The clear strip that begins with the gap of a row and ends above what lies across it."""
    left, lowest, right, highest = row
    height = _height(pieces)
    middle = (lowest + highest) / 2
    for piece in sorted(pieces, key=lambda piece: -piece[3]):
        if (piece[1] + piece[3]) / 2 > highest or (piece[3] > middle and piece[1] > middle):
            continue
        if lowest - piece[3] > _WIDEST_GAP * height:
            break
        on_the_left = (piece[0] + piece[2]) / 2 < (left + right) / 2
        narrower = (max(left, piece[2]), right) if on_the_left else (left, min(right, piece[0]))
        if narrower[1] - narrower[0] < height / 2:
            break
        left, right = narrower
        lowest = min(lowest, piece[1])
    return left, lowest, right, highest


def _around(strip: Box, pieces: list[Box], area: Box, read: Callable[[Box], str]) -> str | None:
    """The text of an area with columns beside a strip; None if they are none.

    A box takes every character that it touches. So where lines are close, a part ends where the
    lines of the next one begin.
    """
    left, bottom, right, top = strip
    middle = (left + right) / 2
    parts: dict[str, list[Box]] = {"above": [], "left": [], "right": [], "below": []}
    for piece in pieces:
        at = (piece[1] + piece[3]) / 2
        side = "left" if piece[2] <= middle else "right"
        parts["above" if at > top else "below" if at < bottom else side].append(piece)
    beside = parts["left"] + parts["right"]
    highest, lowest = max(p[3] for p in beside), min(p[1] for p in beside)
    ceiling = min([area[3], *(p[1] for p in parts["above"])])
    floor = max([area[1], *(p[3] for p in parts["below"])])
    columns = [
        in_columns(parts["left"], (area[0], floor, middle, ceiling), read),
        in_columns(parts["right"], (middle, floor, area[2], ceiling), read),
    ]
    if not all(map(_reads_on, columns)):
        return None
    if _is_right_to_left("".join(columns)):
        columns.reverse()
    above = read((area[0], highest, area[2], area[3])) if parts["above"] else ""
    below = in_columns(parts["below"], (area[0], area[1], area[2], lowest), read)
    found = [above, *columns, below if parts["below"] else ""]
    text = "\r\n".join(part.strip() for part in found if part.strip())
    if _letters(text) != _letters(read(area)):
        return None
    return _LINE_END.sub(lambda end: "\x02\r\n" if end[1] else "\r\n", text)


def _reads_on(text: str) -> bool:
    """Whether lines fill their column, and go on in the next one as sentences do."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < _ROWS:
        return False
    longest = max(map(len, lines))
    full = sum(len(line) >= 0.6 * longest for line in lines)
    going_on = sum(line[0].isalpha() and not line[0].isupper() for line in lines[1:])
    words = sum(any(map(str.isalpha, word)) for word in text.split())
    wide = words >= 3 * len(lines) or any(unicodedata.category(c) == "Lo" for c in text) and longest >= 10
    return wide and full >= len(lines) / 2 and going_on >= (len(lines) - 1) / 4


def _is_right_to_left(text: str) -> bool:
    kinds = Counter(map(unicodedata.bidirectional, text))
    return kinds["R"] + kinds["AL"] > kinds["L"]


def _letters(text: str) -> Counter[str]:
    return Counter(c for c in text if c.isalnum())

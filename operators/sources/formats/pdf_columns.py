"""Columns of text on a page, found by the clear strip between them.

A page whose columns are drawn row by row would be read across. A strip counts if it has lines on
both sides, and the text on each side continues from line to line. So a table is not split: its
cells are short, or each begins a new text.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from operator import itemgetter
from statistics import median

Box = tuple[float, float, float, float]
"""Left, bottom, right and top, in points."""

_ROWS = 3  # rows that have text on both sides of a strip
_MOST_PIECES = 5_000
_MOST_LEVELS = 5  # columns within or below columns
_MOST_STRIPS = 8  # that are tried on a page
_WORDS = 3  # that a line of a column has, by the average
_NARROWEST = 6.0  # heights of a line that a column is wide
_WIDEST_GAP = 3.0  # heights of a line between two lines of a column
_NO_WORD = re.compile(r"(?<!\S)[\W\d_]+(?!\S)")
_LINE_END = re.compile(r"((?<=[^\W\d_])-)? *\r\n")


def in_columns(
    pieces: list[Box], area: Box, read: Callable[[Box], str], levels: int = _MOST_LEVELS
) -> str:
    """The text of an area: what is above columns, each column, what is below them.

    ``pieces`` are the boxes of its text in the order of the page; ``read`` gives the text of a box.
    Columns are sought ``levels`` times within or below others.
    """
    rows = gaps(pieces) if levels and len(pieces) <= _MOST_PIECES else []
    across = read(area)
    if len(rows) < _ROWS or not _is_text(across):
        return across

    def inner(part_of_pieces: list[Box], part: Box) -> str:
        return in_columns(part_of_pieces, part, read, levels - 1)

    tried: list[Box] = []
    downwards = sorted(pieces, key=itemgetter(3), reverse=True)
    for row in rows:
        if any(_within(row, strip) for strip in tried):
            continue
        if len(tried) == _MOST_STRIPS:
            break
        middle = (row[0] + row[2]) / 2
        if sum(left <= middle <= right for left, _, right, _ in rows) < _ROWS:
            continue
        strip = _strip(row, downwards)
        tried.append(strip)
        beside = [one for one in rows if _within(one, strip)]
        deep = (beside[0][3] - beside[-1][1]) / _line_height(pieces) if beside else 0
        if len(beside) < max(_ROWS, deep / _WIDEST_GAP - 1):
            continue
        text = _around(strip, pieces, area, inner)
        if text is not None and _letters(text) == _letters(across):
            return _LINE_END.sub(lambda end: "\x02\r\n" if end[1] else "\r\n", text)
    return across


def _line_height(pieces: list[Box]) -> float:
    """The middle of the heights of pieces of text, in points."""
    return median([top - bottom for _, bottom, _, top in pieces])


def gaps(pieces: list[Box]) -> list[Box]:
    """The gaps in rows that are as wide as a line is high; the topmost comes first."""
    if len(pieces) < 2:
        return []
    narrowest = _line_height(pieces)
    boxes = []
    for (left, bottom, right, top), (left_2, bottom_2, right_2, top_2) in pairwise(pieces):
        if left_2 - right < narrowest and left - right_2 < narrowest:
            continue
        if min(right - left, right_2 - left_2) < 0.75 * narrowest:  # a bullet
            continue
        shared = min(top, top_2) - max(bottom, bottom_2)
        if shared >= min(top - bottom, top_2 - bottom_2) / 4:
            begin, end = min(right, right_2), max(left, left_2)
            boxes.append((begin, min(bottom, bottom_2), end, max(top, top_2)))
    return sorted(boxes, key=itemgetter(3), reverse=True)


def _within(row: Box, strip: Box) -> bool:
    """Whether a gap in a row is a part of a strip."""
    middle = (row[1] + row[3]) / 2
    return row[0] <= strip[0] and strip[2] <= row[2] and strip[1] <= middle <= strip[3]


def _strip(row: Box, downwards: list[Box]) -> Box:
    """The clear strip that begins with the gap of a row and ends above what lies across it."""
    left, lowest, right, highest = row
    height = _line_height(downwards)
    middle = (lowest + highest) / 2
    for piece in downwards:
        if piece[1] > middle:
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


def _around(
    strip: Box, pieces: list[Box], area: Box, read: Callable[[list[Box], Box], str]
) -> str | None:
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
    widths = [max(p[2] for p in parts[s]) - min(p[0] for p in parts[s]) for s in ("left", "right")]
    if min(widths) < _NARROWEST * _line_height(pieces):
        return None
    beside = parts["left"] + parts["right"]
    highest, lowest = max(p[3] for p in beside), min(p[1] for p in beside)
    ceiling = min([area[3], *(p[1] for p in parts["above"])])
    floor = max([area[1], *(p[3] for p in parts["below"])])
    sides = {"left": (area[0], floor, middle, ceiling), "right": (middle, floor, area[2], ceiling)}
    columns = []
    for side, within in sides.items():
        columns.append(read(parts[side], within))
        if not _reads_on(columns[-1]):
            return None
    if _is_right_to_left("".join(columns)):
        columns.reverse()
    above = read(parts["above"], (area[0], highest, area[2], area[3])) if parts["above"] else ""
    below = read(parts["below"], (area[0], area[1], area[2], lowest)) if parts["below"] else ""
    texts = [above, *columns, below]
    return "\r\n".join(part.strip() for part in texts if part.strip())


def _is_text(text: str) -> bool:
    """Whether some lines are as long as sentences that stand side by side."""
    return sum(_words(line) >= 2 * _WORDS for line in text.splitlines()) >= _ROWS


def _words(text: str) -> float:
    """How many words a text has; of a script without spaces, its characters by four."""
    if text.isascii():
        return len(text.split())
    return max(len(text.split()), sum(unicodedata.category(c) == "Lo" for c in text) / 4)


def _reads_on(text: str) -> bool:
    """Whether lines fill their column, and go on in the next one as sentences do."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < _ROWS:
        return False
    longest = max(map(len, lines))
    full = sum(len(line) >= 0.6 * longest for line in lines)
    going_on = sum(line[0].isalpha() and not line[0].isupper() for line in lines[1:])
    wide = sum(_words(_NO_WORD.sub(" ", line)) for line in lines) >= _WORDS * len(lines)
    return wide and full >= len(lines) / 2 and going_on >= (len(lines) - 1) / 4


def _is_right_to_left(text: str) -> bool:
    kinds = Counter(map(unicodedata.bidirectional, text))
    return kinds["R"] + kinds["AL"] > kinds["L"]


def _letters(text: str) -> Counter[str]:
    return Counter(c for c in text if c.isalnum())

"""Finds the passages with a label or an address as an answer shows it.

An answer changes the label that a corpus's template gives: it tells equal labels apart, joins
passages to more lines, marks older versions, and escapes it as Markdown.
"""

import re
from typing import NamedTuple

import polars as pl

from operators.context.distinct_labels import ways_of
from operators.foundation.escape import safe_url
from operators.ranking.named_places import ADDITIONS, composed, label_and_address, label_forms

_RANGE = re.compile(r"(?<=[:L ])([0-9]{1,9})-L?([0-9]{1,9})(?![0-9])")
_ADDED = re.compile(rf"(?:{ADDITIONS})?(?:; .*)?\]", re.DOTALL)


class Shown(NamedTuple):
    """Passages, and the lines that the label or the address names instead of theirs."""

    rows: pl.DataFrame
    first: int | None = None
    last: int | None = None


def shown_as(name: str, known: pl.DataFrame) -> Shown:
    """The rows of ``known`` that an answer shows as ``name``: a label, an address or a citation.

    Args:
        name: any text; one that is neither gives no rows.
        known: columns ``LOCATED``, ``source_label`` and ``source_url``.
    """
    label, address = label_and_address(name)
    likeness = [0] * known.height
    forms = {"source_label": label_forms(label) if label else [], "source_url": []}
    forms["source_url"] = [url] if (url := safe_url(address)) else []
    for column, shown in forms.items():
        own = [composed(text or "") for text in known[column].to_list()]
        for form in shown if not any(likeness) else ():
            likeness = [_likeness(form, text, known, row) for row, text in enumerate(own)]
            if best := max(likeness, default=0):
                rows = [row for row, much in enumerate(likeness) if much == best]
                lines = [
                    one for one in _RANGE.findall(form) if one not in _RANGE.findall(own[rows[0]])
                ]
                first, last = map(int, lines[0]) if lines and best < _SAME else (None, None)
                found = known[rows]
                if (first, last) in found["start_line", "end_line"].rows() or found[
                    "start_line"
                ].null_count():
                    first, last = None, None
                return Shown(found, first, last)
    return Shown(known.clear())


_SAME = 1_000


def _likeness(shown: str, own: str, known: pl.DataFrame, row: int) -> int:
    """How well ``shown`` fits the label or the address ``own`` of a row; 0: not at all."""
    if shown == own:
        return _SAME
    for worth, bare in ((200, _without_lines), (100, _without_release)):
        one, two = bare(shown), bare(own)
        if not two or not one.startswith(two.removesuffix("]")):
            continue
        rest = one[len(two.removesuffix("]")) :]
        if one == two or (two.endswith("]") and _ADDED.fullmatch(rest)):
            extras = [way(0) for way in ways_of(known[[row]], [0])]
            extras += [f"corpus {known['corpus'][row]}"]
            added = sum(f", {extra}" in shown for extra in extras if extra)
            return worth + 2 * added + ((known["version"][row] or "\0") in shown)
    return 0


def _without_lines(text: str) -> str:
    return _RANGE.sub("0-0", text)


def _without_release(text: str) -> str:
    """``text`` without what is in parentheses: a release that ended is not in a stored passage."""
    return re.sub(r" \([^()]*\)", "", _without_lines(text))

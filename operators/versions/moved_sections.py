"""Finds where the text of a section went if the next version of its file lacks the section.

A section that ends was merged into another one, or is gone. A section that begins may have been
split from another one. Their sketches decide: of two texts of different length, the share of the
shorter one that the longer one contains counts (containment, as Broder 1997).
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from operators.versions.renames import Page
from operators.versions.text_sketches import FEWEST, Hashes, contained

_Order = tuple[int, object, float]  # of a page

MOVED = 0.5
"""The minimum share of a section's text in another one to which it moved."""


class Ends(NamedTuple):
    """The predecessor and successors of a run of versions, as document keys."""

    split_from: str | None  # the section that had most of the first version's text
    ended_in: str | None  # a section of the file's next version, which lacks this one
    moved_to: str | None  # the section there that has most of the last version's text


def run_ends(runs: Iterable[Sequence[Page]], pages: Iterable[Page]) -> list[Ends]:
    """The ends of each of ``runs``. Only sections of a file in several versions have any.

    Args:
        pages: all pages of the runs, with the headings around them.
    """
    files: dict[str, dict[_Order, _Edition]] = defaultdict(dict)
    for page in pages:
        if page.around and page.names.path:
            files[page.names.path].setdefault(page.order, _Edition()).add(page)
    orders = {path: sorted(versions) for path, versions in files.items()}

    def beside(page: Page, step: int) -> "_Edition | None":
        """The version of the page's file next to the page's own."""
        of = orders.get(page.names.path or "", []) if page.around else []
        at = bisect_left(of, page.order) + step
        return files[page.names.path or ""][of[at]] if 0 <= at < len(of) else None

    ends = []
    for run in runs:
        before, after = beside(run[0], -1), beside(run[-1], +1)
        ends.append(
            Ends(
                before.holder(run[0].hashes) if before else None,
                after.first if after else None,
                after.holder(run[-1].hashes) if after else None,
            )
        )
    return ends


class _Edition:
    """The sections of one version of a file, by the hashes of their sketches."""

    def __init__(self) -> None:
        self.sketches: dict[str, Hashes] = {}

    def add(self, page: Page) -> None:
        self.sketches[page.key] = page.hashes

    @property
    def first(self) -> str:
        return min(self.sketches)

    @cached_property
    def holders(self) -> dict[int, list[str]]:
        """The sections that contain a hash."""
        of: dict[int, list[str]] = defaultdict(list)
        for key, hashes in self.sketches.items():
            for value in hashes.tolist():
                of[value].append(key)
        return of

    def holder(self, hashes: Hashes) -> str | None:
        """The section that contains the largest share of a text, if that is at least ``MOVED``."""
        votes = Counter(key for value in hashes.tolist() for key in self.holders.get(value, ()))
        # with fewer common hashes the share is too small for the fewest that can be compared
        enough = (key for key, common in votes.items() if common >= MOVED * FEWEST)
        shares = {key: contained(hashes, self.sketches[key]) for key in enough}
        best = min(shares, key=lambda key: (-shares[key], -votes[key], key), default=None)
        return best if best is not None and shares[best] >= MOVED else None

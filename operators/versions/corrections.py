"""Manual corrections of topics: two that are one, or one that is two."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from operators.versions.renames import Page


class Correction(NamedTuple):
    """``join``: the topics of both documents are one. ``split``: a topic begins at ``one``.

    ``one`` and ``other`` are document keys; of a split, ``other`` was the version before ``one``.
    """

    kind: str
    one: str
    other: str


def corrected(
    runs: Iterable[Sequence[Page]], corrections: Iterable[Correction]
) -> list[list[Page]]:
    """``runs`` of versions, joined and then split by ``corrections``.

    A correction whose documents are missing, or whose topics have a version in common, changes
    nothing.
    """
    now = {number: list(run) for number, run in enumerate(runs)}
    home = {page.key: number for number, run in now.items() for page in run}
    for of in sorted(corrections):
        one, other = home.get(of.one), home.get(of.other)
        if one is None or other is None:
            continue
        if of.kind == "join" and one != other:
            if {page.order for page in now[one]} & {page.order for page in now[other]}:
                continue
            now[one] = sorted(now[one] + now.pop(other), key=lambda page: (page.order, page.key))
            home.update({page.key: one for page in now[one]})
        elif of.kind == "split" and one == other:
            place = [page.key for page in now[one]].index(of.one)
            number = max(now) + 1
            now[one], now[number] = now[one][:place], now[one][place:]
            home.update({page.key: number for page in now[number]})
    return [run for run in now.values() if run]

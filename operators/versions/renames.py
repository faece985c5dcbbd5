"""Joins the runs of versions of a page that was renamed or relocated between two versions."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from posixpath import splitext

from operators.versions.normalized_names import NormalizedNames
from operators.versions.text_sketches import Hashes, alike, likely
from operators.versions.version_key import VersionKey

RELOCATED = 0.2
"""The minimum similarity of two pages with one name and one title in different folders."""

SAME_PLACE = 0.5
"""The minimum :func:`beside` of two sections at the same position of a file."""

RETITLED = 0.5
"""The minimum similarity of two pages with one path, name or title; also of two with one path and
other titles whose file names may have the numbers of two pages."""

RENAMED = 0.7
"""The minimum similarity of two pages that have no name in common."""

SUBSTANTIAL = 40
"""The minimum word pairs of pages without a common name: two short ones are easily alike."""


@dataclass(frozen=True, eq=False)
class Page:
    """One version of a document; its names are without the version."""

    key: str  # the document_key
    repo: str
    names: NormalizedNames
    order: tuple[int, VersionKey, float]  # sorts the pages of a topic by version
    released_at: datetime | None  # its date, if that is trusted
    date_source: str | None
    hashes: Hashes  # its sketch
    around: frozenset[str] = frozenset()  # a section's: the headings before and after it
    topic: str | None = None  # as its source names it


def joined(runs: Sequence[list[Page]]) -> list[list[Page]]:
    """``runs`` of one repo; the runs of one page, renamed or relocated, are one.

    Each run begins with its oldest version, before and after.
    """
    if not runs:
        return []
    versions: dict[str, set[VersionKey]] = defaultdict(set)
    for page in (page for run in runs for page in run):
        versions[page.names.family].add(page.order[1])
    every = set().union(*versions.values())
    newest, oldest = max(every), min(every)
    ended = [n for n, run in enumerate(runs) if run[-1].order[1] < newest]
    begun = [n for n, run in enumerate(runs) if run[0].order[1] > oldest]
    by_text = likely([runs[n][-1].hashes for n in ended], [runs[n][0].hashes for n in begun])
    pairs = {*_at_one_path(runs), *((ended[i], begun[j]) for i, j in by_text)}
    orders = {n: {p.order for p in run} for n, run in enumerate(runs)}
    scored = []
    alone = _alone_at_their_path(runs)
    for one, two in pairs:
        a, b = runs[one][-1], runs[two][0]
        if one == two or a.order[0] != 1 or b.order[0] != 1 or orders[one] & orders[two]:
            continue
        rank = _evidence(a, b, alone, versions)
        if rank is not None:
            scored.append((rank, -alike(a.hashes, b.hashes), a.key, b.key, one, two))
    home = list(range(len(runs)))
    members = {n: [n] for n in range(len(runs))}
    for *_, one, two in sorted(scored):
        left, right = home[one], home[two]
        if left == right or orders[left] & orders[right]:
            continue
        members[left] += members.pop(right)
        orders[left] |= orders.pop(right)
        for n in members[left]:
            home[n] = left
    return [
        sorted((p for n in of for p in runs[n]), key=lambda p: (p.order, p.key))
        for _, of in sorted(members.items())
    ]


def _evidence(
    a: Page, b: Page, alone: set[str], versions: dict[str, set[VersionKey]]
) -> int | None:
    """How sure it is that ``b`` continues ``a``, 0 the surest; None: it does not."""
    path, title = a.names.path, a.names.title
    same_path = path is not None and path == b.names.path
    same_title = title is not None and title == b.names.title
    same_identifier = a.names.identifier == b.names.identifier and (
        same_title or not a.around or is_name(a.names.identifier)
    )
    same_names = same_identifier or (same_path and path in alone)
    same_name = path is not None and _base(path) == _base(b.names.path)
    follows = a.order < b.order and _follows(a, b, versions)
    if not (follows or same_names or (same_title and same_name)):
        return None
    close = alike(a.hashes, b.hashes)
    if same_names and (close >= RETITLED or not _may_be_numbered(a, b)):
        return 0
    if same_title and same_name and close >= RELOCATED:
        return 1
    if not follows:
        return None
    if (same_path or same_name or same_title) and close >= RETITLED:
        return 2
    if same_path and close >= RELOCATED and beside(a, b) >= SAME_PLACE:
        return 2
    enough = min(len(a.hashes), len(b.hashes)) >= SUBSTANTIAL
    return 3 if close >= RENAMED and enough else None


def beside(a: Page, b: Page) -> float:
    """The share of the headings around either section that both have."""
    return len(a.around & b.around) / max(len(a.around | b.around), 1)


def is_name(identifier: str) -> bool:
    """Whether a section's identifier names it; a mere number is a position that another may take.

    >>> is_name("docs/guide.md#limits"), is_name("docs/guide.md#section-3.2")
    (True, False)
    """
    own = re.split(r"[/#]", identifier)[-1]
    return bool(re.search(r"[^\W\d_]{3}", re.sub(r"section|sec|part|page|chunk", "", own)))


def _may_be_numbered(a: Page, b: Page) -> bool:
    """Whether the two may be two numbered pages, ``task-1.1.md`` and ``task-1.2.md``.

    These have different titles.
    """
    titles = a.names.title, b.names.title
    return a.names.numbered and b.names.numbered and None not in titles and titles[0] != titles[1]


def _follows(a: Page, b: Page, versions: dict[str, set[VersionKey]]) -> bool:
    """Whether none of the versions around the two is between them."""
    around = versions[a.names.family] | versions[b.names.family]
    return not any(a.order[1] < key < b.order[1] for key in around)


def _alone_at_their_path(runs: Sequence[list[Page]]) -> set[str]:
    """The paths with at most one page in every version."""
    pages = Counter((page.names.path, page.order) for run in runs for page in run)
    shared = {path for (path, _), count in pages.items() if count > 1}
    return {path for path, _ in pages if path is not None and path not in shared}


def _at_one_path(runs: Sequence[list[Page]]) -> set[tuple[int, int]]:
    """The neighbouring runs among those that begin or end with one path or identifier."""
    at: dict[tuple[bool, str], list[int]] = defaultdict(list)
    for number, run in enumerate(runs):
        for page in {run[0], run[-1]}:
            at[False, page.names.identifier].append(number)
            if page.names.path is not None:
                at[True, page.names.path].append(number)
    pairs: set[tuple[int, int]] = set()
    for numbers in at.values():
        of = sorted(set(numbers), key=lambda n: (runs[n][0].order, runs[n][0].key))
        pairs |= set(pairwise(of))
    return pairs


def _base(path: str | None) -> str | None:
    return splitext(path.rpartition("/")[2])[0] if path else None

"""The headings of sections, for sources that give one document per section of a file.

A title then often has more than the heading: the name and version of the whole file, the same for
all its sections, and the number of the section, which shifts when one is inserted before it.
Neither helps to find the section's successor in the next version.
"""

import re
from collections import Counter
from collections.abc import Sequence

MOST = 0.8
"""The share of the titles that must have it."""

NUMBERED = 0.6
"""The share of titles that must begin with a number for it to be a section number."""

_LONGEST = 12
_EDGES = "-., `*'\"\u2014\u2013"
_NUMBER = re.compile(
    r"(?:(?:\u00a7|section|sec|chapter|part|appendix|annex)[-.]*)?"
    r"(?:[0-9]{1,3}(?:\.[0-9]{1,3})*|[a-z](?:\.[0-9]{1,3})*(?=\.)|(?<=-)[a-z](?:\.[0-9]{1,3})*)"
    r"(?:\.[-:)]*|[-:)]+)(?=.)"
)


def section_titles(titles: Sequence[str]) -> list[str]:
    """The ``titles`` of one file's sections in one version, two at least, as their headings.

    The titles are normalized: words in lower case with hyphens between them
    (:mod:`operators.versions.normalized_names`). Section numbers are removed, and words at the
    beginning or the end that ``MOST`` of the titles share, if a digit is among them or a section's
    number comes after them.

    >>> section_titles(["h-05:-1.-fields", "h-05:-1.1.-order", "h-05:-2.-loss", "h-05:-a.ids"])
    ['fields', 'order', 'loss', 'ids']
    """
    words = [title.split("-") for title in titles]
    first, last = _shared(words), _shared([of[::-1] for of in words])[::-1]
    without = [_without(of, first, last) for of in words]
    bare = [_NUMBER.sub("", title, count=1) if _NUMBER.match(title) else title for title in without]
    numbered = sum(one != other for one, other in zip(without, bare, strict=True))
    if numbered >= NUMBERED * len(titles):
        return bare
    first, last = (of if any(map(str.isdigit, "".join(of))) else [] for of in (first, last))
    return [_without(of, first, last) for of in words]


def _shared(titles: Sequence[list[str]]) -> list[str]:
    """The longest beginning that ``MOST`` of the titles have and that is not all of one."""
    counts = Counter(
        tuple(of[:length]) for of in titles for length in range(1, min(len(of), _LONGEST))
    )
    enough = [list(start) for start, count in counts.items() if count >= MOST * len(titles)]
    return max(enough, key=len, default=[])


def _without(words: list[str], first: list[str], last: list[str]) -> str:
    """The title of ``words`` without the beginning and the end that it shares with others.

    A title with nothing else is unchanged.
    """
    whole = "-".join(words)
    if first and words[: len(first)] == first and len(words) > len(first):
        words = words[len(first) :]
    if last and words[-len(last) :] == last and len(words) > len(last):
        words = words[: -len(last)]
    left = "-".join(words).strip(_EDGES)
    return left if any(map(str.isalnum, left)) else whole

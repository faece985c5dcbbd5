"""The similarity of two documents without their texts: bottom-k sketches of their word pairs.

Of all pairs of neighbouring words, hashed, a document keeps the ``SIZE`` smallest. The share of
common ones among the ``SIZE`` smallest of two documents together estimates the Jaccard index of
their sets of pairs (Broder, On the resemblance and containment of documents, 1997), and is exact
if both documents are short. It takes pairs and not words: pages of one manual share their words.
"""

import re
import zlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint32]

RULES = 1
"""The number of these rules: sketches of other rules are not compared with these."""

SIZE = 128
PROBED = 48
"""Hashes of a document that are used to find candidate pairs."""

FEWEST = 8
"""The fewest hashes for measuring how much of a text another one contains."""

COMMON = 64
"""A hash that more documents share gives no candidate pair."""

_WORD = re.compile(r"\w+")
_MIX = np.uint64(0x9E3779B97F4A7C15)


def sketch(text: str) -> Hashes:
    """The sketch of a text: at most ``SIZE`` hashes, ascending; none for a text without words."""
    words = [_hashed(word) for word in _WORD.findall(text.lower())]
    if not words:
        return np.zeros(0, np.uint32)
    of = np.array(words if len(words) > 1 else [words[0], 0], dtype=np.uint64)
    with np.errstate(over="ignore"):
        mixed = (of[:-1] * np.uint64(0x100000001B3) + of[1:]) * _MIX
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX
    return np.unique((mixed >> np.uint64(32)).astype(np.uint32))[:SIZE]


def alike(one: Hashes, two: Hashes) -> float:
    """The estimated Jaccard index, 0..1, of two documents' word pairs; 0 if one has none."""
    if not len(one) or not len(two):
        return 0.0
    common = np.intersect1d(one, two, assume_unique=True)
    union = np.union1d(one, two)
    if SIZE in (len(one), len(two)):  # of such a document only those below its largest are known
        union = union[:SIZE]
        common = common[common <= union[-1]]
    return float(len(common) / len(union))


def contained(part: Hashes, whole: Hashes) -> float:
    """The estimated share, 0..1, of the word pairs of ``part`` that ``whole`` has too.

    0 if too few of them can be compared: of a long text only the smallest hashes are known.
    """
    known = part[part <= whole[-1]] if len(whole) == SIZE else part
    if len(known) < FEWEST or not len(whole):
        return 0.0
    return len(np.intersect1d(known, whole, assume_unique=True)) / len(known)


def likely(ones: Sequence[Hashes], twos: Sequence[Hashes]) -> list[tuple[int, int]]:
    """The pairs (index in ``ones``, index in ``twos``) that share a hash few documents have.

    Documents that share a fifth of their word pairs are nearly always among them. The time is close
    to linear: a hash that more than ``COMMON`` documents have makes no pair.
    """
    holders: dict[int, list[int]] = {}
    for index, hashes in enumerate(twos):
        for value in hashes[:PROBED].tolist():
            holders.setdefault(value, []).append(index)
    pairs: set[tuple[int, int]] = set()
    for index, hashes in enumerate(ones):
        for value in hashes[:PROBED].tolist():
            of = holders.get(value, ())
            if len(of) <= COMMON:
                pairs.update((index, other) for other in of)
    return sorted(pairs)


@lru_cache(maxsize=8_192)
def _hashed(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "surrogatepass")) | 1

"""What tells at a glance that two chunks are no copies, so that hardly a pair is read in full.

A shortened vector: the first numbers of the unit vector, and the length of the rest of it. By the
Cauchy-Schwarz inequality the product of two shortened vectors is never below the cosine, so that
one small matrix product leaves out nearly every pair, and none that counts. And the last words of a
text: equal texts end alike.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from operators.arrays.segments import Column, Floats, Integers, offsets, starts
from operators.dedup.greedy import Flags, Pairs
from operators.dedup.token_index import TokenIndex, index_tokens

Singles = NDArray[np.float32]
Words = NDArray[np.uint64]

_SHORT = 128  # numbers of a shortened vector
_LAST_WORDS = 3
_ROUNDING = 1e-6  # of a length in float32, so that a shortened vector is never too short
_PAIRS_AT_ONCE = 4096  # of which all vectors are held
_SLACK = 1e-4  # of a product in float32; float64 decides
_TILE = (16, 64)  # rows and columns of a product that one call makes
_ODD = np.uint64(0x9FB21C651E98DF25)


@dataclass(frozen=True)
class SimilarityIndex:
    """The similarity_index of chunks.

    Attributes:
        chunk_id: one a chunk.
        text: the texts; null is empty.
        vectors: the embeddings as they are, of any length but zero where there is a ``short``.
        short: the shortened unit vectors; zeros for a chunk without a usable embedding.
        ending: a number for the last words of each text, of no meaning in another process.
    """

    chunk_id: Integers
    text: pl.Series
    vectors: Singles
    short: Singles
    ending: Words

    @cached_property
    def tokens(self) -> TokenIndex:
        """The token sets of the texts, for lists so long that they are worth hashing."""
        return index_tokens(pl.DataFrame({"chunk_id": self.chunk_id, "text": self.text}))


def index_similarity(chunks: pl.DataFrame) -> SimilarityIndex:
    """The signature of every row of ``chunks``: columns chunk_id, text and, if known, embedding.

    An embedding that is null, zero, not finite or of another length than most is not usable.
    """
    known = "embedding" in chunks.columns
    vectors = _matrix(chunks["embedding"]) if known else np.zeros((chunks.height, 0), np.float32)
    head = vectors[:, : _SHORT - 1]
    square, part = np.einsum("ij,ij->i", vectors, vectors), np.einsum("ij,ij->i", head, head)
    usable = np.isfinite(square) & (square > 0)
    short = np.zeros((len(head), head.shape[1] + 1), np.float32)
    if usable.all():
        np.divide(head, np.sqrt(square)[:, None], out=short[:, :-1])
        short[:, -1] = np.sqrt(np.maximum(1 - part / square, 0) + _ROUNDING)
    else:
        rows, square, part = np.flatnonzero(usable), square[usable], part[usable]
        short[rows, :-1] = head[rows] / np.sqrt(square)[:, None]
        short[rows, -1] = np.sqrt(np.maximum(1 - part / square, 0) + _ROUNDING)
    text = chunks["text"]
    ends = [hash(tuple((one or "").rsplit(None, _LAST_WORDS)[-_LAST_WORDS:])) for one in text]
    ending = np.array(ends, np.int64).view(np.uint64)
    return SimilarityIndex(chunks["chunk_id"].to_numpy(), text, vectors, short, ending)


class Lookalikes:
    """Finds the rows of one query whose vectors are near, or whose texts are equal.

    Args:
        query_id: the query of each row; rows are sorted by query and rank.
        number: each row's signature, counted through all of ``known``.
        known: similarity_index.
        threshold: the least cosine of what is near.
    """

    def __init__(
        self, query_id: Column, number: Integers, known: Sequence[SimilarityIndex], threshold: float
    ) -> None:
        self.query_id, self.number, self.threshold = query_id, number, threshold
        self.known = known
        self.begins = offsets(np.array([len(one.chunk_id) for one in known], np.int64)).tolist()
        self.short = _stacked([one.short for one in known])
        self.ending = np.concatenate([np.zeros(0, np.uint64), *(one.ending for one in known)])
        self.words = cache(self._words)

    def _words(self, number: int) -> list[str]:
        """What stands between the white spaces of this signature's text; ``words`` keeps it."""
        part = bisect_right(self.begins, number) - 1
        return (self.known[part].text[number - self.begins[part]] or "").split()

    def pairs(self, rows: Integers, may_better: Flags, may_worse: Flags) -> Pairs:
        """The pairs (better, worse) of ``rows``, of those that may be so; some come twice."""
        found = self._equal(rows, may_better, may_worse)
        begins = starts(self.query_id[rows])
        for begin, end in pairwise([*begins.tolist(), len(rows)]):
            own = slice(begin, end)
            found.append(self._near(rows[own][may_better[own]], rows[own][may_worse[own]]))
        better, worse = zip(*found, strict=True)
        return np.concatenate(better), np.concatenate(worse)

    def _near(self, better: Integers, worse: Integers) -> Pairs:
        """The pairs of one query's rows whose vectors are near."""
        one, two = _near(better, worse, self.short, self.number, self.threshold - _SLACK)
        near = self.near(one, two)
        return one[near], two[near]

    def near(self, one: Integers, two: Integers) -> Flags:
        """Whether the vectors of each pair of rows are near; without one they are not."""
        near: Flags = (self.short[self.number[one], -1] > 0) & (
            self.short[self.number[two], -1] > 0
        )
        both = np.flatnonzero(near)
        for begin in range(0, len(both), _PAIRS_AT_ONCE):
            some = both[begin : begin + _PAIRS_AT_ONCE]
            unit = self._units(self.number[np.concatenate([one[some], two[some]])])
            cosines = np.einsum("ij,ij->i", unit[: len(some)], unit[len(some) :])
            near[some] = cosines >= self.threshold
        return near

    def equal(self, one: Integers, two: Integers) -> Flags:
        """Whether the texts of each pair of rows are equal but for white space."""
        first, second = self.number[one], self.number[two]
        equal: Flags = self.ending[first] == self.ending[second]
        for pair in np.flatnonzero(equal).tolist():
            equal[pair] = self.words(int(first[pair])) == self.words(int(second[pair]))
        return equal

    def _equal(self, rows: Integers, may_better: Flags, may_worse: Flags) -> list[Pairs]:
        """The pairs of one query's rows whose texts are equal but for white space."""
        key = self.ending[self.number[rows]] + self.query_id[rows].astype(np.uint64) * _ODD
        order = np.argsort(key, kind="stable")
        twice = np.flatnonzero(key[order][1:] == key[order][:-1])
        found = [(rows[:0], rows[:0])]
        if not len(twice):
            return found
        some = np.sort(order[np.unique(np.concatenate([twice, twice + 1]))])
        queries, numbers = self.query_id[rows[some]].tolist(), self.number[rows[some]].tolist()
        same: dict[tuple[int, str], list[int]] = {}
        for place, query_id, number in zip(some.tolist(), queries, numbers, strict=True):
            same.setdefault((query_id, " ".join(self.words(number))), []).append(place)
        for group in same.values():
            if len(group) > 1:
                first, second = np.triu_indices(len(group), 1)
                better, worse = np.array(group)[first], np.array(group)[second]
                both = may_better[better] & may_worse[worse]
                found.append((rows[better[both]], rows[worse[both]]))
        return found

    def _units(self, number: Integers) -> Floats:
        """The unit vectors of these similarity_index; each has one, of one length."""
        part = np.searchsorted(self.begins, number, side="right") - 1
        vectors = np.empty((len(number), self.known[part[0]].vectors.shape[1]))
        for one in set(part.tolist()):
            rows = np.flatnonzero(part == one)
            vectors[rows] = self.known[one].vectors[number[rows] - self.begins[one]]
        vectors /= np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
        return vectors


def _near(
    better: Integers, worse: Integers, short: Singles, number: Integers, least: float
) -> Pairs:
    """The pairs of rows, the better one before, whose shortened vectors are so near at least."""
    one, two = short[number[better]], short[number[worse]]
    product = np.zeros((-(-len(two) // _TILE[0]), _TILE[0], len(one)), np.float32)
    padded = np.zeros((*product.shape[:2], two.shape[1]), np.float32)
    padded.reshape(-1, two.shape[1])[: len(two)] = two
    # in pieces so small that numpy's library neither packs them nor wakes a second thread
    for begin in range(0, len(one), _TILE[1]):
        some = slice(begin, begin + _TILE[1])
        after = int(np.searchsorted(worse, better[begin])) // _TILE[0]
        np.matmul(padded[after:], one[some].T, out=product[after:, :, some])
    second, first = np.divmod(np.flatnonzero(product >= least), max(len(one), 1))
    first, second = better[first], worse[second]
    return first[first < second], second[first < second]


def _matrix(embeddings: pl.Series) -> Singles:
    """One row a chunk; zeros where there is no vector of the usual length."""
    if not len(embeddings):
        return np.zeros((0, 0), np.float32)
    if isinstance(embeddings.dtype, pl.Array):
        if not embeddings.null_count():
            return embeddings.to_numpy().astype(np.float32, copy=False)
        embeddings = embeddings.cast(pl.List(embeddings.dtype.inner))
    sizes = embeddings.list.len().fill_null(0).to_numpy().astype(np.int64)
    usual = int(np.bincount(sizes[sizes > 0]).argmax()) if (sizes > 0).any() else 0
    matrix = np.zeros((len(sizes), usual), np.float32)
    rows = np.flatnonzero(sizes == usual) if usual else np.zeros(0, np.int64)
    if len(rows):
        values = embeddings[rows].explode().to_numpy()
        matrix[rows] = values.reshape(len(rows), usual)
    return matrix


def _stacked(shorts: Sequence[Singles]) -> Singles:
    """All of them, one after the other; those of another width than most as zeros."""
    if len(shorts) == 1:
        return shorts[0]
    rows: dict[int, int] = {1: 0}
    for short in shorts:
        rows[short.shape[1]] = rows.get(short.shape[1], 0) + len(short)
    width = max(rows, key=lambda one: (rows[one], one))
    same = [s if s.shape[1] == width else np.zeros((len(s), width), np.float32) for s in shorts]
    return np.concatenate([np.zeros((0, width), np.float32), *same])

"""A cache of lookups in a collection, valid until the collection changes."""

import sys
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import polars as pl

MOST_BYTES = 32_000_000
"""The most bytes of the values of a cache; the latest value stays if it is larger."""

T = TypeVar("T")


class VersionedCache(Generic[T]):
    """Values by key, each with the state of its collection.

    It is thread-safe: two threads that miss the same value both look it up.

    >>> kept = VersionedCache[str]()
    >>> kept.get("a", 1, lambda: "old", most=2), kept.get("a", 1, lambda: "new", most=2)
    ('old', 'old')
    >>> kept.get("a", 2, lambda: "new", most=2)
    'new'
    """

    def __init__(self) -> None:
        self._answers: dict[Hashable, tuple[Hashable, T]] = {}

    def get(
        self, key: Hashable, state: Hashable | None, look_up: Callable[[], T], *, most: int
    ) -> T:
        """The value for ``key``, looked up if none of this ``state`` is cached.

        ``state`` is a stamp, None while it changes: then nothing is cached. The cache keeps the
        ``most`` (1 or more) latest values, fewer if they are over ``MOST_BYTES``.
        """
        cached = self._answers.get(key)
        if cached is not None and cached[0] == state:
            return cached[1]
        answer = look_up()
        if state is not None:
            others = [pair for pair in self._answers.items() if pair[0] != key]
            latest = others[max(len(others) + 1 - most, 0) :]
            left = MOST_BYTES - _size(answer) - sum(_size(value) for _, (_, value) in latest)
            while latest and left < 0:
                left += _size(latest.pop(0)[1][1])
            self._answers = {**dict(latest), key: (state, answer)}
        return answer

    def __len__(self) -> int:
        """The number of cached values."""
        return len(self._answers)


def _size(value: Any) -> int:
    """About the bytes of a cached value: texts, tuples of them, a frame."""
    if isinstance(value, pl.DataFrame):
        return int(value.estimated_size())
    return sum(map(_size, value)) if isinstance(value, tuple) else sys.getsizeof(value)

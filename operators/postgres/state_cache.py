"""Answers that were looked up in a collection and hold until it changes."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class VersionedCache(Generic[T]):
    """Answers by key, each with the state of its collection.

    Threads may share it: two that miss the same answer both look it up.

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
        """The answer for ``key``, looked up if none of this ``state`` is kept.

        ``state`` is a stamp, None while it changes: nothing is kept then. The ``most`` (1 or more)
        latest answers are kept.
        """
        held = self._answers.get(key)
        if held is not None and held[0] == state:
            return held[1]
        answer = look_up()
        if state is not None:
            others = [pair for pair in self._answers.items() if pair[0] != key]
            latest = others[max(len(others) + 1 - most, 0) :]
            self._answers = {**dict(latest), key: (state, answer)}
        return answer

    def __len__(self) -> int:
        """How many answers are kept."""
        return len(self._answers)

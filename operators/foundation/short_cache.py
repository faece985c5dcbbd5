"""A cache of a function of a text that bounds the bytes that it holds, not only their number.

``lru_cache(65_536)`` of words keeps 650 MB if each is as long as a query may be.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

Text = TypeVar("Text", str, tuple[str, ...])
T = TypeVar("T")

LONGEST = 100
"""Characters of a text whose value is kept; 400 bytes at most."""


def cached_if_short(
    most: int, longest: int = LONGEST
) -> Callable[[Callable[[Text], T]], Callable[[Text], T]]:
    """Like ``lru_cache(most)``; the value of a text over ``longest`` is computed each time.

    >>> cached_if_short(10, 3)(str.upper)("text")
    'TEXT'
    """

    def decorate(function: Callable[[Text], T]) -> Callable[[Text], T]:
        cached = lru_cache(most)(function)

        @wraps(function)
        def call(text: Text) -> T:
            size = len(text) if isinstance(text, str) else sum(map(len, text))
            return cached(text) if size <= longest else function(text)

        return call

    return decorate

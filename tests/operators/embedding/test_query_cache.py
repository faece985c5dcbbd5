"""Vectors of questions that are kept in memory."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from operators.embedding.cache import QueryCache
from operators.embedding.protocol import Vectors


class Counting:
    """Embeds a text as its length, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.lock = threading.Lock()

    def __call__(self, texts: Sequence[str]) -> Vectors:
        with self.lock:
            self.asked.append(list(texts))
        return np.array([[len(text), 1] for text in texts], np.float32)


def test_a_repeated_question_is_embedded_once() -> None:
    cache, embed = QueryCache(), Counting()
    first = cache.vectors(["a", "bb", "a"], embed, 2)
    second = cache.vectors(["bb", "ccc"], embed, 2)
    assert embed.asked == [["a", "bb"], ["ccc"]]
    assert first[:, 0].tolist() == [1, 2, 1]
    assert second[:, 0].tolist() == [2, 3]


def test_the_least_recently_used_goes_first() -> None:
    cache, embed = QueryCache(2), Counting()
    for text in ["a", "bb", "a", "ccc", "a", "bb"]:
        cache.vectors([text], embed, 2)
    assert embed.asked == [["a"], ["bb"], ["ccc"], ["bb"]]
    assert len(cache) == 2


@pytest.mark.parametrize("capacity", [0, 1])
def test_a_call_larger_than_the_cache_is_answered_whole(capacity: int) -> None:
    cache = QueryCache(capacity)
    got = cache.vectors(["a", "bb", "ccc"], Counting(), 2)
    assert got[:, 0].tolist() == [1, 2, 3]
    assert len(cache) == capacity


def test_changing_an_answer_does_not_change_the_next() -> None:
    cache = QueryCache()
    cache.vectors(["a"], Counting(), 2)[:] = 9
    assert cache.vectors(["a"], Counting(), 2).tolist() == [[1, 1]]


def test_many_threads_get_right_answers() -> None:
    cache, embed = QueryCache(5), Counting()

    def ask(number: int) -> bool:
        texts = ["x" * (number % 11), "y" * (number % 7)]
        got = cache.vectors(texts, embed, 2)
        return got[:, 0].tolist() == [len(text) for text in texts]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(2000)))
    assert len(cache) <= 5

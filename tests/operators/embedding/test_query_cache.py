"""Vectors of questions that are kept in memory and in a folder."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from operators.embedding.cache import QueryCache
from operators.embedding.protocol import Vectors
from operators.embedding.query_vectors import with_vectors


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


def test_one_text_in_place_of_a_list_is_refused() -> None:
    with pytest.raises(TypeError, match="a list of texts"):
        QueryCache().vectors("abc", Counting(), 2)


def test_many_threads_get_right_answers() -> None:
    cache, embed = QueryCache(5), Counting()

    def ask(number: int) -> bool:
        texts = ["x" * (number % 11), "y" * (number % 7)]
        got = cache.vectors(texts, embed, 2)
        return got[:, 0].tolist() == [len(text) for text in texts]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(2000)))
    assert len(cache) <= 5


class CountingModel:
    space, dimensions = "counted-1", 3

    def __init__(self):
        self.asked = []

    def embed_queries(self, texts):
        self.asked.append(list(texts))
        rows = [[len(text), text.count("a"), 1.0] for text in texts]
        return np.array(rows, np.float32).reshape(len(rows), 3)


def embedded(model, texts, directory):
    return with_vectors(pl.DataFrame({"text": texts}), model, directory)["embedding"].to_numpy()


def test_a_query_is_embedded_once_and_its_vector_keeps_its_bits(tmp_path):
    first, again = CountingModel(), CountingModel()
    made = embedded(first, ["a", "bb", "a"], tmp_path / "new")
    assert first.asked == [["a", "bb"]]
    np.testing.assert_array_equal(made, first.embed_queries(["a", "bb", "a"]))
    more = embedded(again, ["bb", "ccc", "a"], tmp_path / "new")
    assert again.asked == [["ccc"]]
    np.testing.assert_array_equal(more, first.embed_queries(["bb", "ccc", "a"]))


def test_each_vector_space_has_its_own_file(tmp_path):
    one, other = CountingModel(), CountingModel()
    other.space = "counted-2"
    embedded(one, ["a"], tmp_path)
    embedded(other, ["a"], tmp_path)
    assert other.asked == [["a"]]


@pytest.mark.parametrize("content", [b"not a file of arrays", b"PK\x03\x04broken"])
def test_a_broken_file_is_made_again(tmp_path, content, caplog):
    (tmp_path / "counted-1.2.npz").write_bytes(content)
    model = CountingModel()
    assert embedded(model, ["a"], tmp_path).shape == (1, 3)
    assert "embedded again" in caplog.text
    embedded(model, ["a"], tmp_path)
    assert model.asked == [["a"]]


def test_a_directory_that_cannot_be_written_is_a_warning(tmp_path, caplog):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert embedded(CountingModel(), ["a"], Path(blocked)).shape == (1, 3)
    assert "were not kept" in caplog.text

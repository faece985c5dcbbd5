from pathlib import Path

import numpy as np
import polars as pl
import pytest

from operators.embedding.query_vectors import with_vectors


class Counting:
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
    first, again = Counting(), Counting()
    made = embedded(first, ["a", "bb", "a"], tmp_path / "new")
    assert first.asked == [["a", "bb"]]
    np.testing.assert_array_equal(made, first.embed_queries(["a", "bb", "a"]))
    more = embedded(again, ["bb", "ccc", "a"], tmp_path / "new")
    assert again.asked == [["ccc"]]
    np.testing.assert_array_equal(more, first.embed_queries(["bb", "ccc", "a"]))


def test_each_vector_space_has_its_own_file(tmp_path):
    one, other = Counting(), Counting()
    other.space = "counted-2"
    embedded(one, ["a"], tmp_path)
    embedded(other, ["a"], tmp_path)
    assert other.asked == [["a"]]


def test_without_a_directory_nothing_is_kept():
    model = Counting()
    embedded(model, ["a"], None)
    embedded(model, ["a"], None)
    assert model.asked == [["a"], ["a"]]


@pytest.mark.parametrize("content", [b"", b"not a file of arrays", b"PK\x03\x04broken"])
def test_a_broken_file_is_made_again(tmp_path, content, caplog):
    (tmp_path / "counted-1.2.npz").write_bytes(content)
    model = Counting()
    assert embedded(model, ["a"], tmp_path).shape == (1, 3)
    assert "embedded again" in caplog.text
    embedded(model, ["a"], tmp_path)
    assert model.asked == [["a"]]


def test_a_directory_that_cannot_be_written_is_a_warning(tmp_path, caplog):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert embedded(Counting(), ["a"], Path(blocked)).shape == (1, 3)
    assert "were not kept" in caplog.text


def test_the_oldest_give_way(tmp_path, monkeypatch):
    monkeypatch.setattr("operators.embedding.query_vectors.MOST_VECTORS", 2)
    model = Counting()
    for text in ("a", "bb", "ccc"):
        embedded(model, [text], tmp_path)
    embedded(model, ["ccc", "bb"], tmp_path)
    assert model.asked == [["a"], ["bb"], ["ccc"]]
    embedded(model, ["a"], tmp_path)
    assert model.asked[-1] == ["a"]

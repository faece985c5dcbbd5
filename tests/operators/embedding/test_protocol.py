from pathlib import Path

import numpy as np
import pytest

from operators.embedding.protocol import (
    EmbeddingError,
    ModelNotInstalled,
    readable,
    space_fingerprint,
    unit,
)
from operators.embedding.registry import load_embedder
from operators.errors import UnknownName


@pytest.mark.parametrize("name", ["minlm", "onnx:", "onnx", "openai:", "", "static:x"])
def test_an_unknown_name_is_an_error_that_names_the_known_ones(name: str) -> None:
    with pytest.raises(UnknownName, match=r"did you mean|known: minilm"):
        load_embedder(name)


def test_a_near_name_is_suggested() -> None:
    with pytest.raises(UnknownName, match="did you mean 'minilm'"):
        load_embedder("minlm")


def test_a_model_that_is_not_installed_says_which_command_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSCORPUS_HOME", str(tmp_path))
    with pytest.raises(ModelNotInstalled, match="run `crosscorpus models install`"):
        load_embedder("minilm")


def test_a_missing_model_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelNotInstalled, match="nowhere"):
        load_embedder(f"onnx:{tmp_path / 'nowhere'}")


def test_a_space_changes_with_every_part_and_not_with_their_order() -> None:
    parts = {"weights": "a", "pooling": "mean", "normalise": True, "max_tokens": 256}
    spaces = {
        space_fingerprint(parts | change)
        for change in (
            {},
            {"weights": "b"},
            {"pooling": "cls"},
            {"normalise": False},
            {"max_tokens": 512},
        )
    }
    assert len(spaces) == 5
    assert all(len(space) == 16 for space in spaces)
    assert space_fingerprint(dict(reversed(parts.items()))) == space_fingerprint(parts)


def test_unit_scales_rows_to_length_one() -> None:
    rows = unit(np.array([[3, 4], [0, -2]], np.float32), "m")
    assert rows.dtype == np.float32
    assert rows.tolist() == [[np.float32(0.6), np.float32(0.8)], [0, -1]]
    assert unit(np.empty((0, 2), np.float32), "m").shape == (0, 2)


@pytest.mark.parametrize("bad", [[0, 0], [np.nan, 1], [np.inf, 1]])
def test_a_vector_without_a_direction_is_an_error(bad: list[float]) -> None:
    with pytest.raises(EmbeddingError, match="text 1 of a call"):
        unit(np.array([[1, 0], bad], np.float32), "m")


def test_readable_replaces_lone_surrogates_one_for_one() -> None:
    assert readable(["a\ud800b\udfff", "😀"]) == ["a\ufffdb\ufffd", "😀"]


def test_one_text_in_place_of_a_list_is_refused() -> None:
    with pytest.raises(TypeError, match="a list of texts"):
        readable("one text")

from __future__ import annotations

from pathlib import Path

import pytest

from operators.embedding.protocol import ModelNotInstalled
from operators.embedding.registry import load_embedder
from operators.errors import UnknownName


def test_an_unknown_model_is_an_error_with_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="did you mean 'minilm'"):
        load_embedder("minlm")


@pytest.mark.parametrize("name", ["onnx:", "openai:"])
def test_a_kind_without_its_model_is_unknown(name: str) -> None:
    with pytest.raises(UnknownName):
        load_embedder(name)


def test_a_directory_without_a_model_is_not_installed(tmp_path: Path) -> None:
    with pytest.raises(ModelNotInstalled):
        load_embedder(f"onnx:{tmp_path}")


def test_a_model_is_loaded_by_its_name() -> None:
    assert load_embedder("minilm").model == "minilm"

from __future__ import annotations

from pathlib import Path

import pytest

from operators.embedding.protocol import EmbeddingError, ModelNotInstalled
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


def test_a_model_of_ones_own_is_loaded_and_what_it_lacks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [name for name in dir(load_embedder("minilm")) if not name.startswith("_")]
    assert {"space", "embed_queries"} <= {*whole}
    (tmp_path / "own_models.py").write_text(
        "from operators.embedding.minilm import load_minilm as load\n"
        "class Half:\n    model, space, dimensions, max_tokens = 'half', 'x', 2, 9\n"
        "    def embed_documents(self, texts): return texts\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load_embedder("python:own_models:load").model == "minilm"
    lacking = "its Half lacks count_tokens, embed_queries, token_offsets"
    with pytest.raises(EmbeddingError, match=lacking):
        load_embedder("python:own_models:Half")
    for name, said in (("no_models:load", "No module named"), ("own_models:laod", "'laod'")):
        with pytest.raises(ModelNotInstalled, match=said):
            load_embedder(f"python:{name}")

from __future__ import annotations

from pathlib import Path

import pytest

from operators.embedding.protocol import EmbeddingError, ModelNotInstalled
from operators.embedding.registry import load_embedder, own_model
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
    lacking = "its Half lacks count_tokens, embed_queries"
    with pytest.raises(EmbeddingError, match=lacking):
        load_embedder("python:own_models:Half")
    for name, said in (("no_models:load", "No module named"), ("own_models:laod", "'laod'")):
        with pytest.raises(ModelNotInstalled, match=said):
            load_embedder(f"python:{name}")


def test_a_function_of_a_module_or_of_a_package_loads_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plug_models.py").write_text("def load(name='none'): return name\n")
    info = tmp_path / "plug_models-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug_models\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[crosscorpus.embedders]\nplug = plug_models:load\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert own_model("embedders", "python:plug_models:load") == "none"
    assert own_model("embedders", "plug") == "none"
    assert own_model("embedders", "plug:a:b") == "a:b"
    for group, name in (("embedders", "plog"), ("rerankers", "plug"), ("embedders", "python:load")):
        with pytest.raises(UnknownName, match=name):
            own_model(group, name)
    with pytest.raises(ModelNotInstalled, match="No module named 'no_such'"):
        own_model("embedders", "python:no_such:load")

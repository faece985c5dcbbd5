from pathlib import Path

import pytest

from operators.embedding.own_models import own_model
from operators.embedding.protocol import ModelNotInstalled


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
    assert own_model("embedders", "plog") is own_model("rerankers", "plug") is None
    assert own_model("embedders", "python:load") is None
    with pytest.raises(ModelNotInstalled, match="No module named 'no_such'"):
        own_model("embedders", "python:no_such:load")

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from operators.embedding.minilm import load_minilm, minilm_directory, minilm_status
from operators.embedding.onnx import DirectoryEmbedder
from operators.embedding.protocol import ModelNotInstalled


def test_a_model_that_was_never_installed_is_missing(tmp_path: Path) -> None:
    status = minilm_status(minilm_directory(tmp_path))
    assert (status.state, status.bytes) == ("missing", 0)
    with pytest.raises(ModelNotInstalled, match="run `crosscorpus models install`"):
        load_minilm(tmp_path)


def test_what_earlier_versions_installed_is_not_to_be_installed_again(tmp_path: Path) -> None:
    for damaged in (False, True):
        if damaged:
            minilm_directory(tmp_path, "minilm-fp32").mkdir(parents=True)
        with pytest.raises(ModelNotInstalled, match="only earlier versions installed it"):
            load_minilm(tmp_path, "minilm-fp32")


@pytest.mark.parametrize("damage", ["truncated", "missing", "settings"])
def test_a_damaged_installation_is_seen(
    tmp_path: Path, minilm: DirectoryEmbedder, damage: str
) -> None:
    folder = tmp_path / "models" / "minilm-integers"
    shutil.copytree(minilm_directory(), folder)
    if damage == "truncated":
        (folder / "model.onnx").write_bytes((folder / "model.onnx").read_bytes()[:1000])
    elif damage == "missing":
        (folder / "tokenizer.json").unlink()
    else:
        (folder / "crosscorpus.json").write_text("{}")
    status = minilm_status(minilm_directory(tmp_path))
    assert status.state == "damaged"
    assert status.reason
    with pytest.raises(ModelNotInstalled, match="run `crosscorpus models install`"):
        load_minilm(tmp_path)

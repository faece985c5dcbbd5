"""Each family's tiny encoder against what the library that publishes the family computes.

``published_encoders.json`` has its first and last states, made from the same weights and ids by the
TensorFlow classes of transformers (``from_pretrained``, ``last_hidden_state``).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import published_encoders
import pytest
from hub_stub import sentence_transformer
from published_encoders import FAMILIES, IDS, PAIR
from safetensors.numpy import save_file

from crosscorpus.model_builds.bert_to_onnx import Arithmetic, convert_bert, encoder_graph
from crosscorpus.model_builds.encoder_weights import read_encoder, read_tensors
from crosscorpus.model_builds.integer_model import Parts, build_in_integers
from crosscorpus.model_builds.reference import hidden_states, score
from operators.embedding.onnx import ModelSettings, load_directory
from operators.embedding.protocol import EmbeddingError

EXPECTED = json.loads(Path(__file__).with_name("published_encoders.json").read_text())
PROCESSOR = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
INTEGERS: Arithmetic = "int8" if "vnni" in PROCESSOR else "uint8"


def states(graph: Path, ids: list[int], padding: int = 0) -> Any:
    session = onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"])
    given = {"input_ids": [[*ids, *[1] * padding]]}
    given["attention_mask"] = [[1] * len(ids) + [0] * padding]
    arrays = {name: np.array(value, np.int64) for name, value in given.items()}
    return session.run(["last_hidden_state"], arrays)[0][0, : len(ids)]


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    published_encoders.write(tmp_path, request.param)
    return str(request.param)


def convert(folder: Path, arithmetic: Arithmetic = "fp32") -> Path:
    files = folder / "config.json", folder / "model.safetensors"
    convert_bert(*files, folder / "model.onnx", arithmetic=arithmetic)
    return folder / "model.onnx"


def test_graph_and_reference_compute_what_the_published_library_computes(
    family: str, tmp_path: Path
) -> None:
    graph = convert(tmp_path)
    encoder = read_encoder(tmp_path / "config.json", tmp_path / "model.safetensors")
    for name, ids in IDS.items():
        for got in (states(graph, ids), states(graph, ids, padding=6), hidden_states(encoder, ids)):
            np.testing.assert_allclose(got[[0, -1]], EXPECTED[family][name], atol=1e-4)


@pytest.mark.parametrize("family", EXPECTED["cross_encoders"])
@pytest.mark.parametrize("arithmetic", ["fp32", INTEGERS])
def test_a_cross_encoder_gives_the_score_that_the_published_library_gives(
    tmp_path: Path, family: str, arithmetic: Arithmetic
) -> None:
    published_encoders.write(tmp_path, family, head=True)
    files = tmp_path / "config.json", tmp_path / "model.safetensors"
    encoder = read_encoder(*files, head=True)
    (tmp_path / "m.onnx").write_bytes(encoder_graph(encoder, arithmetic))
    session = onnxruntime.InferenceSession(
        str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"]
    )
    given = {"input_ids": PAIR["ids"], "attention_mask": [1] * 8}
    given |= {"token_type_ids": PAIR["types"]} if family == "bert" else {}
    assert {each.name for each in session.get_inputs()} == given.keys()
    arrays = {name: np.array([value], np.int64) for name, value in given.items()}
    expected = EXPECTED["cross_encoders"][family]
    near = pytest.approx(expected, abs=1e-4 if arithmetic == "fp32" else 0.2)
    assert session.run(None, arrays)[0].item() == near
    assert score(encoder, PAIR["ids"], PAIR["types"]) == pytest.approx(expected, abs=1e-4)


def test_integers_stay_close(family: str, tmp_path: Path) -> None:
    got = states(convert(tmp_path, INTEGERS), IDS["long"])[[0, -1]]
    exact = np.array(EXPECTED[family]["long"])
    cosine = (got * exact).sum(1) / np.linalg.norm(got, axis=1) / np.linalg.norm(exact, axis=1)
    assert cosine.min() > 0.99


def test_files_for_a_gpu_make_the_same_vector_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_bytes(sentence_transformer()[name])
    parts = Parts(
        read_encoder(tmp_path / "config.json", tmp_path / "model.safetensors"),
        tmp_path / "tokenizer.json",
        ModelSettings(pooling="mean", max_tokens=128, dimensions=24),
    )
    made = []
    for device in ("cpu", "cuda"):
        (tmp_path / device).mkdir()
        with monkeypatch.context() as at:
            at.setenv("CROSSCORPUS_DEVICE", device)
            folder = build_in_integers(parts, tmp_path / device)
        made.append(load_directory(folder))
    assert made[0].space == made[1].space
    assert made[0].settings.batch_tokens < made[1].settings.batch_tokens


def test_an_index_may_name_no_file_elsewhere(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "../outside.safetensors"}}))
    with pytest.raises(EmbeddingError, match="not beside it"):
        read_tensors(index)


def test_half_precision_and_bfloat16_are_read(tmp_path: Path) -> None:
    values = np.array([[1.5, -2.0, 0.25]], np.float32)
    save_file({"a": values.astype(np.float16)}, tmp_path / "half")
    raw = (values.view(np.uint32) >> 16).astype("<u2").tobytes()
    header = json.dumps({"a": {"dtype": "BF16", "shape": [1, 3], "data_offsets": [0, 6]}}).encode()
    (tmp_path / "brain").write_bytes(len(header).to_bytes(8, "little") + header + raw)
    for name in ("half", "brain"):
        np.testing.assert_array_equal(read_tensors(tmp_path / name)["a"], values)


def test_weights_that_are_cut_lack_a_tensor_or_have_one_more_are_refused(tmp_path: Path) -> None:
    published_encoders.write(tmp_path, "bert")
    weights, whole = tmp_path / "model.safetensors", published_encoders.tensors("bert")
    gone = "encoder.layer.1.output.dense.bias"
    changed = {
        f"lack {gone}": {name: each for name, each in whole.items() if name != gone},
        "has the shape": whole | {gone: np.zeros((3, 3), np.float32)},
        "part of its own, encoder.adapter": whole | {"encoder.adapter": np.zeros(2, np.float32)},
    }
    for said, held in changed.items():
        save_file(held, weights)
        with pytest.raises(EmbeddingError, match=said):
            convert(tmp_path)
    weights.write_bytes(weights.read_bytes()[:200])
    with pytest.raises(EmbeddingError, match=r"cannot read model\.safetensors"):
        convert(tmp_path)


@pytest.mark.parametrize("change", [{"model_type": "modernbert"}, {"auto_map": {"AutoModel": "x"}}])
def test_code_of_its_own_and_other_families_are_refused_by_name(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    published_encoders.write(tmp_path, "bert")
    (tmp_path / "config.json").write_text(json.dumps(published_encoders.config("bert") | change))
    with pytest.raises(EmbeddingError, match=next(iter(change))):
        convert(tmp_path)

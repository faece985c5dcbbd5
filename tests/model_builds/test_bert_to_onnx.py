"""The arithmetic of the converter, on a tiny model with random weights."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.shape_inference import infer_shapes
from safetensors.numpy import save_file

from crosscorpus.model_builds.bert_to_onnx import Arithmetic, convert_bert
from crosscorpus.model_builds.encoder_weights import read_encoder
from crosscorpus.model_builds.reference import hidden_states

CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 24,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "intermediate_size": 40,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 16,
    "vocab_size": 50,
}

CPU = "CPUExecutionProvider"
PROCESSOR = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
INTEGERS: Arithmetic = "int8" if "vnni" in PROCESSOR else "uint8"  # what is installed here
Tensors = dict[str, np.ndarray[Any, np.dtype[np.float32]]]


def random_weights(seed: int) -> Tensors:
    rng = np.random.default_rng(seed)
    hidden, wide = 24, 40
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (50, hidden),
        "embeddings.position_embeddings.weight": (16, hidden),
        "embeddings.token_type_embeddings.weight": (2, hidden),
        "embeddings.LayerNorm.weight": (hidden,),
        "embeddings.LayerNorm.bias": (hidden,),
    }
    for layer in range(2):
        at = f"encoder.layer.{layer}."
        for part in ("attention.self.query", "attention.self.key", "attention.self.value"):
            shapes |= {f"{at}{part}.weight": (hidden, hidden), f"{at}{part}.bias": (hidden,)}
        for part, shape in (
            ("attention.output.dense", (hidden, hidden)),
            ("intermediate.dense", (wide, hidden)),
            ("output.dense", (hidden, wide)),
        ):
            shapes |= {f"{at}{part}.weight": shape, f"{at}{part}.bias": shape[:1]}
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{at}{part}.weight": (hidden,), f"{at}{part}.bias": (hidden,)}
    return {name: rng.normal(size=shape).astype(np.float32) * 0.4 for name, shape in shapes.items()}


@pytest.fixture
def model(tmp_path: Path) -> tuple[Path, Path, Tensors]:
    weights = random_weights(1)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    # As published: a prefix on every name, and an integer buffer among the weights.
    named = {f"bert.{name}": tensor for name, tensor in weights.items()}
    buffer = {"bert.embeddings.position_ids": np.arange(16)[None]}
    save_file(named | buffer, tmp_path / "model.safetensors")
    return tmp_path / "config.json", tmp_path / "model.safetensors", weights


def run(path: Path, ids: list[list[int]], mask: list[list[int]]) -> Any:
    session = onnxruntime.InferenceSession(str(path), providers=[CPU])
    given = {"input_ids": np.array(ids, np.int64), "attention_mask": np.array(mask, np.int64)}
    return session.run(["last_hidden_state"], given)[0]


def test_a_channel_that_a_norm_makes_large_does_not_coarsen_the_others(tmp_path: Path) -> None:
    tensors = random_weights(2)
    for layer in range(2):
        at = f"encoder.layer.{layer}"
        tensors[f"{at}.attention.output.LayerNorm.weight"][3] = 60
        tensors[f"{at}.attention.output.LayerNorm.bias"][5] = 0
        tensors[f"{at}.attention.output.LayerNorm.weight"][5] = 0
        tensors[f"{at}.intermediate.dense.weight"][:, 3] /= 60
        tensors[f"{at}.output.dense.weight"] *= 20  # so that the channel does not drown them
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    save_file(tensors, tmp_path / "model.safetensors")
    files = tmp_path / "config.json", tmp_path / "model.safetensors"
    convert_bert(*files, tmp_path / "m.onnx", arithmetic=INTEGERS)
    encoder = read_encoder(*files)
    for ids in ([1, 2, 3, 4], [7, 7, 0, 9, 30]):
        got = run(tmp_path / "m.onnx", [ids], [[1] * len(ids)])[0]
        exact = hidden_states(encoder, ids)
        cosine = (got * exact).sum(1) / np.linalg.norm(got, axis=1) / np.linalg.norm(exact, axis=1)
        assert cosine.min() > 0.9995


@pytest.mark.skipif("vnni" not in PROCESSOR, reason="this processor overflows in signed products")
def test_what_a_gpu_runs_multiplies_signed_integers_only_and_gives_the_same_bits(
    model: tuple[Path, Path, Tensors], tmp_path: Path
) -> None:
    """CUDA's MatMulInteger takes no others; what it does not take, the processor computes."""
    for arithmetic in ("int8", "signed"):
        convert_bert(model[0], model[1], tmp_path / f"{arithmetic}.onnx", arithmetic=arithmetic)
    given = [list(range(16))], [[1] * 16]
    same = [run(tmp_path / f"{each}.onnx", *given).tobytes() for each in ("int8", "signed")]
    assert same[0] == same[1]
    graph = infer_shapes(onnx.load(tmp_path / "signed.onnx"), data_prop=True).graph
    kinds = {value.name: value.type.tensor_type.elem_type for value in graph.value_info}
    kinds |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    products = [node for node in graph.node if node.op_type == "MatMulInteger"]
    assert len(products) == 10
    assert {kinds[name] for node in products for name in node.input} == {onnx.TensorProto.INT8}


def test_the_conversion_needs_no_onnx_package(
    model: tuple[Path, Path, Tensors], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    convert_bert(model[0], model[1], tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").stat().st_size

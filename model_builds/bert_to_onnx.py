"""One ONNX file from a BERT encoder's published weights (safetensors), without torch.

The big matrices are stored as int8, with one fp32 scale for each word and for each run of 64 inputs
of an output. That makes the file four times smaller. The runtime multiplies them out once, when it
loads the file, and computes in fp32. So a vector does not depend on the other texts of its batch;
dynamic int8 arithmetic cannot promise that.
Formulas: Devlin et al., BERT, 2018 (post-norm transformer encoder, exact GELU).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from model_builds import onnx_file
from operators.embedding.protocol import EmbeddingError

Storage = Literal["int8", "fp32"]
Array = npt.NDArray[Any]

_OPSET = 20  # the first with Gelu
_IR_VERSION = 9
_RUN = 64  # inputs that share a scale


def convert_bert(config: Path, weights: Path, out: Path, *, storage: Storage = "int8") -> None:
    """Write ``out``: inputs input_ids, attention_mask; output last_hidden_state (batch, n, hidden).

    Two runs write the same bytes.

    Args:
        config: the model's config.json.
        weights: its model.safetensors.
        out: the ONNX file to write.
        storage: ``int8`` or, for comparison, ``fp32``; arithmetic is fp32 in both.

    Raises:
        EmbeddingError: the architecture is not a BERT encoder with exact GELU.
    """
    from safetensors.numpy import load_file

    settings = json.loads(config.read_text("utf-8"))
    wanted = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
    for key, value in wanted.items():
        if settings.get(key, value) != value:
            raise EmbeddingError(f"cannot convert a model whose {key} is {settings[key]!r}")
    tensors = {
        name.removeprefix("bert."): tensor.astype(np.float32)
        for name, tensor in load_file(weights).items()
        if tensor.dtype.kind == "f"
    }
    out.write_bytes(_encoder(settings, tensors, storage))


@dataclass
class _Graph:
    """An ONNX graph under construction; every method returns the name of its result."""

    storage: Storage
    nodes: list[bytes] = field(default_factory=list)
    constants: list[bytes] = field(default_factory=list)

    def add(self, operator: str, inputs: list[str], out: str, **attributes: Any) -> str:
        self.nodes.append(onnx_file.node(operator, inputs, out, attributes))
        return out

    def constant(self, name: str, value: Array | np.generic) -> str:
        self.constants.append(onnx_file.tensor(name, np.ascontiguousarray(value)))
        return name

    def matrix(self, name: str, value: Array, groups: tuple[int, ...]) -> str:
        """A matrix in symmetric int8, in shape ``groups``; one scale for each run along axis 1."""
        if self.storage == "fp32":
            return self.constant(name, value)
        grouped = value.reshape(groups)
        largest = np.abs(grouped).max(axis=1, keepdims=True)
        scale = np.maximum(largest, np.float32(1e-12)) / np.float32(127)
        self.constant(f"{name}.int8", np.clip(np.round(grouped / scale), -127, 127).astype(np.int8))
        self.constant(f"{name}.scale", scale)
        self.constant(f"{name}.shape", np.array(value.shape, np.int64))
        self.add("Cast", [f"{name}.int8"], f"{name}.float", to=onnx_file.FLOAT)
        self.add("Mul", [f"{name}.float", f"{name}.scale"], f"{name}.grouped")
        return self.add("Reshape", [f"{name}.grouped", f"{name}.shape"], name)


def _encoder(settings: dict[str, Any], tensors: dict[str, Array], storage: Storage) -> bytes:
    hidden = int(settings["hidden_size"])
    heads = int(settings["num_attention_heads"])
    graph = _Graph(storage)
    graph.constant("split_heads", np.array([0, 0, heads, hidden // heads], np.int64))
    graph.constant("join_heads", np.array([0, 0, hidden], np.int64))
    _mask_bias(graph)
    states = _embeddings(graph, tensors, settings)
    for number in range(int(settings["num_hidden_layers"])):
        states = _layer(graph, tensors, settings, number, states)
    graph.add("Identity", [states], "last_hidden_state")
    inputs = [
        onnx_file.value_info(name, onnx_file.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    shape: list[int | str] = ["batch", "tokens", hidden]
    outputs = [onnx_file.value_info("last_hidden_state", onnx_file.FLOAT, shape)]
    return onnx_file.model(
        graph.nodes,
        graph.constants,
        inputs,
        outputs,
        name="bert",
        opset=_OPSET,
        ir_version=_IR_VERSION,
    )


def _mask_bias(graph: _Graph) -> None:
    """Attention may look at real tokens only: 0 for them, -1e9 for padding."""
    graph.constant("one", np.float32(1))
    graph.constant("never", np.float32(-1e9))
    graph.constant("over_heads_and_rows", np.array([1, 2], np.int64))
    graph.add("Cast", ["attention_mask"], "mask", to=onnx_file.FLOAT)
    graph.add("Unsqueeze", ["mask", "over_heads_and_rows"], "mask_wide")
    graph.add("Sub", ["one", "mask_wide"], "padding")
    graph.add("Mul", ["padding", "never"], "mask_bias")


def _embeddings(graph: _Graph, tensors: dict[str, Array], settings: dict[str, Any]) -> str:
    words = tensors["embeddings.word_embeddings.weight"]
    graph.matrix("words", words, words.shape)
    # One text a sequence: every token has type 0, so that its vector joins the positions'.
    positions = tensors["embeddings.position_embeddings.weight"]
    types = tensors["embeddings.token_type_embeddings.weight"]
    graph.constant("positions", positions + types[0])
    graph.constant("zero", np.array([0], np.int64))
    graph.add("Gather", ["words", "input_ids"], "word_vectors", axis=0)
    graph.add("Shape", ["input_ids"], "length", start=1, end=2)
    graph.add("Slice", ["positions", "zero", "length", "zero"], "position_vectors")
    total = graph.add("Add", ["word_vectors", "position_vectors"], "embedded")
    return _norm(graph, tensors, settings, total, "embeddings.LayerNorm")


def _layer(
    graph: _Graph, tensors: dict[str, Array], settings: dict[str, Any], number: int, states: str
) -> str:
    at = f"encoder.layer.{number}"
    # The attention's 1/sqrt(d) is folded into the query weights.
    scale = (int(settings["hidden_size"]) // int(settings["num_attention_heads"])) ** -0.5
    for part, factor in (("query", scale), ("key", 1.0), ("value", 1.0)):
        name = f"{at}.attention.self.{part}"
        projected = _linear(graph, tensors, states, name, factor)
        graph.add("Reshape", [projected, "split_heads"], f"{name}.heads")
        order = [0, 2, 3, 1] if part == "key" else [0, 2, 1, 3]
        graph.add("Transpose", [f"{name}.heads"], f"{name}.by_head", perm=order)
    self_at = f"{at}.attention.self"
    by_head = {part: f"{self_at}.{part}.by_head" for part in ("query", "key", "value")}
    graph.add("MatMul", [by_head["query"], by_head["key"]], f"{self_at}.scores")
    graph.add("Add", [f"{self_at}.scores", "mask_bias"], f"{self_at}.masked")
    graph.add("Softmax", [f"{self_at}.masked"], f"{self_at}.shares", axis=-1)
    graph.add("MatMul", [f"{self_at}.shares", by_head["value"]], f"{self_at}.mixed")
    graph.add("Transpose", [f"{self_at}.mixed"], f"{self_at}.rows", perm=[0, 2, 1, 3])
    graph.add("Reshape", [f"{self_at}.rows", "join_heads"], f"{self_at}.joined")
    attended = _linear(graph, tensors, f"{self_at}.joined", f"{at}.attention.output.dense")
    graph.add("Add", [attended, states], f"{at}.attended")
    normed = _norm(graph, tensors, settings, f"{at}.attended", f"{at}.attention.output.LayerNorm")
    wide = _linear(graph, tensors, normed, f"{at}.intermediate.dense")
    graph.add("Gelu", [wide], f"{at}.activated")
    narrow = _linear(graph, tensors, f"{at}.activated", f"{at}.output.dense")
    graph.add("Add", [narrow, normed], f"{at}.sum")
    return _norm(graph, tensors, settings, f"{at}.sum", f"{at}.output.LayerNorm")


def _linear(
    graph: _Graph, tensors: dict[str, Array], states: str, name: str, factor: float = 1.0
) -> str:
    matrix = tensors[f"{name}.weight"].T * np.float32(factor)
    run = math.gcd(matrix.shape[0], _RUN)
    weight = graph.matrix(f"{name}.weight", matrix, (-1, run, matrix.shape[1]))
    bias = graph.constant(f"{name}.bias", tensors[f"{name}.bias"] * np.float32(factor))
    graph.add("MatMul", [states, weight], f"{name}.product")
    return graph.add("Add", [f"{name}.product", bias], name)


def _norm(
    graph: _Graph, tensors: dict[str, Array], settings: dict[str, Any], states: str, name: str
) -> str:
    gain = graph.constant(f"{name}.weight", tensors[f"{name}.weight"])
    bias = graph.constant(f"{name}.bias", tensors[f"{name}.bias"])
    epsilon = float(settings["layer_norm_eps"])
    return graph.add("LayerNormalization", [states, gain, bias], name, axis=-1, epsilon=epsilon)

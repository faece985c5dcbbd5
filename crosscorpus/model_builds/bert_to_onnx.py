"""One ONNX file from a BERT-like encoder's published weights (safetensors), without torch.

Most products are of integers, which takes half the time: each token's inputs are rounded by their
own largest value and each output's weights by theirs, so that a vector does not depend on the other
texts of its batch (``DynamicQuantizeLinear``, with one scale a batch, cannot promise that). The
values' product stays in fp32: attention adds few tokens' values, often those of a marker, to all
others, so that their rounding would not average out (measured on 240 texts: the mean cosine to fp32
is .9993 so, .998 with all products in integers). A marker's state has a channel ten times as large
as all others, by which the others would be rounded: the wide layer's inputs are divided by what
their norm makes of each channel, and its weights multiplied (Xiao et al., SmoothQuant, ICML 2023,
but with the norm's own numbers instead of measured ones).

``uint8`` is ``int8`` with 128 added to each weight and subtracted again: the same sums. x86
processors without VNNI add pairs of signed products in 16 bits, where they overflow; unsigned ones
they add exactly, and slower. ``signed`` is ``int8`` with 128 taken from each input, and again the
same sums: GPUs multiply no other integers, and processors are five times as slow with them.
Formulas: Devlin et al., BERT, 2018 (post-norm transformer encoder, exact GELU).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from crosscorpus.model_builds import onnx_file
from crosscorpus.model_builds.encoder_weights import (
    DISTANCES,
    Array,
    Encoder,
    distance_bias,
    read_encoder,
)

Arithmetic = Literal["int8", "uint8", "signed", "fp32"]

_OPSET = 20  # the first with Gelu
_IR_VERSION = 9


@dataclass(frozen=True)
class _Rounding:
    """A token's inputs x become ``round((x + shift) * top / max|x + shift|) + zero``, 0 to 255."""

    top: int = 127
    zero: int = 128
    shift: float = 0.0


_SIGNED = _Rounding()
_ACTIVATED = _Rounding(top=255, zero=0, shift=0.17)  # GELU is never below -.17


def convert_bert(
    config: Path, weights: Path, out: Path, *, arithmetic: Arithmetic = "int8"
) -> None:
    """Write ``out``: inputs input_ids, attention_mask; output last_hidden_state (batch, n, hidden).

    Two runs write the same bytes.

    Args:
        config: the model's config.json.
        weights: its model.safetensors, or the model.safetensors.index.json of its shards.
        out: the ONNX file to write.
        arithmetic: ``int8``, ``uint8``, ``signed`` or, for comparison, ``fp32``.

    Raises:
        EmbeddingError: the architecture is not that of
            :mod:`crosscorpus.model_builds.encoder_weights`.
    """
    out.write_bytes(encoder_graph(read_encoder(config, weights), arithmetic))


@dataclass
class _Graph:
    """An ONNX graph under construction; every method returns the name of its result."""

    arithmetic: Arithmetic
    nodes: list[bytes] = field(default_factory=list)
    constants: dict[str, bytes] = field(default_factory=dict)
    rounded: set[str] = field(default_factory=set)

    def add(self, operator: str, inputs: list[str], out: str, **attributes: Any) -> str:
        self.nodes.append(onnx_file.node(operator, inputs, out, attributes))
        return out

    def constant(self, name: str, value: Array | np.generic) -> str:
        self.constants[name] = onnx_file.tensor(name, np.ascontiguousarray(value))
        return name

    def round_inputs(self, states: str, by: _Rounding) -> tuple[str, str]:
        """The rounded inputs and the size of their step in each token, added once a tensor."""
        names = f"{states}.integers", f"{states}.step"
        if states in self.rounded:
            return names
        self.rounded.add(states)
        last, least = (
            self.constant("last", np.array([-1])),
            self.constant("least", np.float32(1e-9)),
        )
        top = self.constant(f"top{by.top}", np.float32(by.top))
        signed = self.arithmetic == "signed"
        value = np.int8(by.zero - 128) if signed else np.uint8(by.zero)
        zero = self.constant(f"zero{by.zero}", value)
        moved, sizes = states, f"{states}.moved"
        if by.shift:  # nothing is negative then
            shift = self.constant("shift", np.float32(by.shift))
            moved = self.add("Add", [states, shift], sizes)
        else:
            self.add("Abs", [states], sizes)
        self.add("ReduceMax", [sizes, last], f"{states}.largest", keepdims=1)
        self.add("Max", [f"{states}.largest", least], f"{states}.reach")
        self.add("Div", [f"{states}.reach", top], names[1])
        self.add("Div", [top, f"{states}.reach"], f"{states}.factor")
        self.add("Mul", [moved, f"{states}.factor"], f"{states}.scaled")
        self.add("QuantizeLinear", [f"{states}.scaled", "one", zero], names[0])
        return names


def _rounded_weights(matrix: Array, axis: int) -> tuple[Array, Array]:
    """Integers from -127 to 127 and, for each vector along ``axis``, the size of a step."""
    reach = np.abs(matrix).max(axis=axis, keepdims=True)
    step = np.maximum(reach, np.float32(1e-12)) / np.float32(127)
    return np.clip(np.round(matrix / step), -127, 127).astype(np.int8), step


def encoder_graph(encoder: Encoder, arithmetic: Arithmetic) -> bytes:
    """The bytes of the ONNX file of an encoder."""
    hidden, heads = encoder.hidden, encoder.heads
    graph = _Graph(arithmetic)
    graph.constant("split_heads", np.array([0, 0, heads, hidden // heads], np.int64))
    graph.constant("join_heads", np.array([0, 0, hidden], np.int64))
    _mask_bias(graph)
    states = _embeddings(graph, encoder)
    if DISTANCES in encoder.tensors:
        _distance_bias(graph, encoder)
    for number in range(encoder.layers):
        states = _layer(graph, encoder, number, states)
    shape: list[int | str] = ["batch", "tokens", hidden]
    if encoder.has_head:
        out, shape = _score(graph, encoder, states), ["batch", 1]
    else:
        out = graph.add("Identity", [states], "last_hidden_state")
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if encoder.types else [])]
    inputs = [onnx_file.value_info(n, onnx_file.INT64, ["batch", "tokens"]) for n in names]
    outputs = [onnx_file.value_info(out, onnx_file.FLOAT, shape)]
    return onnx_file.model(
        graph.nodes,
        graph.constants.values(),
        inputs,
        outputs,
        name="bert",
        opset=_OPSET,
        ir_version=_IR_VERSION,
    )


def _score(graph: _Graph, encoder: Encoder, states: str) -> str:
    """The score of a cross-encoder, (batch, 1), of the first token's state."""
    graph.constant("first", np.array(0))
    graph.add("Gather", [states, "first"], "of_pair", axis=1)
    dense = _linear(graph, encoder.tensors, "of_pair", "head.dense", None)
    graph.add("Tanh", [dense], "head.activated")
    score = _linear(graph, encoder.tensors, "head.activated", "head.out", None)
    return graph.add("Identity", [score], "logits")


def _mask_bias(graph: _Graph) -> None:
    """Attention may look at real tokens only: 0 for them, -1e9 for padding."""
    graph.constant("one", np.float32(1))
    graph.constant("never", np.float32(-1e9))
    graph.constant("over_heads_and_rows", np.array([1, 2], np.int64))
    graph.add("Cast", ["attention_mask"], "mask", to=onnx_file.FLOAT)
    graph.add("Unsqueeze", ["mask", "over_heads_and_rows"], "mask_wide")
    graph.add("Sub", ["one", "mask_wide"], "padding")
    graph.add("Mul", ["padding", "never"], "mask_bias")


def _embeddings(graph: _Graph, encoder: Encoder) -> str:
    tensors = encoder.tensors
    words = tensors["embeddings.word_embeddings.weight"]
    if graph.arithmetic == "fp32":
        graph.constant("words", words)
        graph.add("Gather", ["words", "input_ids"], "word_vectors", axis=0)
    else:  # a quarter of the disk space and memory
        integers, step = _rounded_weights(words, axis=1)
        for name, value in (("words.integers", integers), ("words.step", step)):
            graph.constant(name, value)
            graph.add("Gather", [name, "input_ids"], f"{name}.found", axis=0)
        graph.add("Cast", ["words.integers.found"], "words.cast", to=onnx_file.FLOAT)
        graph.add("Mul", ["words.cast", "words.step.found"], "word_vectors")
    # One text a sequence: every token has type 0, so that its vector joins the positions'.
    positions = tensors["embeddings.position_embeddings.weight"]
    types = tensors["embeddings.token_type_embeddings.weight"]
    graph.constant("positions", positions if encoder.types else positions + types[0])
    graph.constant("zero", np.array([0], np.int64))
    graph.add("Shape", ["input_ids"], "length", start=1, end=2)
    graph.add("Slice", ["positions", "zero", "length", "zero"], "position_vectors")
    total = graph.add("Add", ["word_vectors", "position_vectors"], "embedded")
    if encoder.types:
        graph.constant("types", types)
        graph.add("Gather", ["types", "token_type_ids"], "type_vectors", axis=0)
        total = graph.add("Add", [total, "type_vectors"], "embedded_with_types")
    return _norm(graph, encoder, total, "embeddings.LayerNorm")


def _distance_bias(graph: _Graph, encoder: Encoder) -> None:
    """Add each head's bias for the distance between two tokens to the mask."""
    graph.constant("distances", distance_bias(encoder))
    graph.constant("middle", np.array(encoder.positions - 1))
    graph.constant("start", np.array(0))
    graph.constant("by_one", np.array(1))
    graph.constant("column", np.array([1]))
    graph.add("Squeeze", ["length"], "count")
    graph.add("Range", ["start", "count", "by_one"], "places")
    graph.add("Unsqueeze", ["places", "column"], "rows")
    graph.add("Sub", ["places", "rows"], "away")
    graph.add("Add", ["away", "middle"], "away_from_first")
    graph.add("Gather", ["distances", "away_from_first"], "distance_bias", axis=1)
    graph.add("Add", ["mask_bias", "distance_bias"], "pair_bias")


def _layer(graph: _Graph, encoder: Encoder, number: int, states: str) -> str:
    tensors, at = encoder.tensors, f"encoder.layer.{number}"
    bias = "pair_bias" if DISTANCES in tensors else "mask_bias"
    # The attention's 1/sqrt(d) is folded into the query weights.
    scale = (encoder.hidden // encoder.heads) ** -0.5
    parts = (("query", _SIGNED, scale), ("key", _SIGNED, 1.0), ("value", None, 1.0))
    for part, rounding, factor in parts:
        name = f"{at}.attention.self.{part}"
        projected = _linear(graph, tensors, states, name, rounding, factor)
        graph.add("Reshape", [projected, "split_heads"], f"{name}.heads")
        order = [0, 2, 3, 1] if part == "key" else [0, 2, 1, 3]
        graph.add("Transpose", [f"{name}.heads"], f"{name}.by_head", perm=order)
    self_at = f"{at}.attention.self"
    by_head = {part: f"{self_at}.{part}.by_head" for part in ("query", "key", "value")}
    graph.add("MatMul", [by_head["query"], by_head["key"]], f"{self_at}.scores")
    graph.add("Add", [f"{self_at}.scores", bias], f"{self_at}.masked")
    graph.add("Softmax", [f"{self_at}.masked"], f"{self_at}.shares", axis=-1)
    graph.add("MatMul", [f"{self_at}.shares", by_head["value"]], f"{self_at}.mixed")
    graph.add("Transpose", [f"{self_at}.mixed"], f"{self_at}.rows", perm=[0, 2, 1, 3])
    graph.add("Reshape", [f"{self_at}.rows", "join_heads"], f"{self_at}.joined")
    joined, out = f"{self_at}.joined", f"{at}.attention.output.dense"
    attended = _linear(graph, tensors, joined, out, _SIGNED)
    graph.add("Add", [attended, states], f"{at}.attended")
    normed = _norm(graph, encoder, f"{at}.attended", f"{at}.attention.output.LayerNorm")
    wide = _linear(
        graph, tensors, normed, f"{at}.intermediate.dense", _SIGNED, sizes=_sizes(tensors, normed)
    )
    graph.add("Gelu", [wide], f"{at}.activated")
    narrow = _linear(graph, tensors, f"{at}.activated", f"{at}.output.dense", _ACTIVATED)
    graph.add("Add", [narrow, normed], f"{at}.sum")
    return _norm(graph, encoder, f"{at}.sum", f"{at}.output.LayerNorm")


def _linear(
    graph: _Graph,
    tensors: dict[str, Array],
    states: str,
    name: str,
    rounding: _Rounding | None,
    factor: float = 1.0,
    sizes: Array | None = None,
) -> str:
    """A linear layer of ``states``, whose channels are rounded in units of their ``sizes``."""
    matrix = tensors[f"{name}.weight"].T * np.float32(factor)
    bias = tensors[f"{name}.bias"] * np.float32(factor)
    if rounding is None or graph.arithmetic == "fp32":
        graph.constant(f"{name}.weight", matrix)
        graph.add("MatMul", [states, f"{name}.weight"], f"{name}.product")
    else:
        if sizes is not None:
            matrix = matrix * sizes[:, None]
            graph.constant(f"{name}.per_size", np.float32(1) / sizes)
            states = graph.add("Mul", [states, f"{name}.per_size"], f"{name}.sized")
        integers, step = _rounded_weights(matrix, axis=0)
        bias = bias - np.float32(rounding.shift) * (integers * step).sum(axis=0)
        offset = 128 if graph.arithmetic == "uint8" else 0
        kind = np.uint8 if offset else np.int8
        graph.constant(f"{name}.weight", (integers.astype(np.int16) + offset).astype(kind))
        graph.constant(f"{name}.step", step[0])
        rounded, inputs_step = graph.round_inputs(states, rounding)
        zeros = [f"zero{rounding.zero}", graph.constant("weights_zero", kind(offset))]
        graph.add("MatMulInteger", [rounded, f"{name}.weight", *zeros], f"{name}.sums")
        graph.add("Cast", [f"{name}.sums"], f"{name}.cast", to=onnx_file.FLOAT)
        graph.add("Mul", [f"{name}.cast", f"{name}.step"], f"{name}.steps")
        graph.add("Mul", [f"{name}.steps", inputs_step], f"{name}.product")
    graph.constant(f"{name}.bias", bias)
    return graph.add("Add", [f"{name}.product", f"{name}.bias"], name)


def _sizes(tensors: dict[str, Array], norm: str) -> Array:
    """The range of each channel of a norm's outputs: three deviations from 0 and its bias."""
    gain, bias = tensors[f"{norm}.weight"], tensors[f"{norm}.bias"]
    return np.maximum(np.abs(bias) + np.float32(3) * np.abs(gain), np.float32(1e-9))


def _norm(graph: _Graph, encoder: Encoder, states: str, name: str) -> str:
    tensors = encoder.tensors
    gain = graph.constant(f"{name}.weight", tensors[f"{name}.weight"])
    bias = graph.constant(f"{name}.bias", tensors[f"{name}.bias"])
    parts = [states, gain, bias]
    return graph.add("LayerNormalization", parts, name, axis=-1, epsilon=encoder.epsilon)

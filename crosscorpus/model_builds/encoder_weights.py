"""The published weights of a BERT-like encoder (safetensors), by the names that BERT gives them.

BERT, RoBERTa, XLM-R, DistilBERT and MPNet compute the same but for three things: the place of the
first position, token types, and MPNet's bias by distance (Song et al., 2020, as T5 has it). What
else the files hold (a pooler, a language model's head) is left out, but for the head of a
cross-encoder: a dense layer with tanh over the first token's state, then one that gives the score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import AliasChoices, BaseModel, Field

from crosscorpus.model_builds.repository_json import ModelConfig, Size, read_json
from operators.embedding.protocol import EmbeddingError
from operators.foundation.escape import label_text

Array = npt.NDArray[Any]

FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "mpnet")
"""The supported values of ``model_type``."""

DISTANCES = "encoder.relative_attention_bias.weight"
_AFTER_PADDING = ("roberta", "xlm-roberta", "camembert", "mpnet")
"""Families whose positions begin after the id that pads."""

_MPNET = {"attn.q.": "self.query.", "attn.k.": "self.key.", "attn.v.": "self.value."}
_MPNET |= {"attn.o.": "output.dense.", "attention.LayerNorm.": "attention.output.LayerNorm."}
_DISTILBERT = {
    "transformer.layer.": "encoder.layer.",
    "attention.q_lin.": "attention.self.query.",
    "attention.k_lin.": "attention.self.key.",
    "attention.v_lin.": "attention.self.value.",
    "attention.out_lin.": "attention.output.dense.",
    "sa_layer_norm.": "attention.output.LayerNorm.",
    "ffn.lin1.": "intermediate.dense.",
    "ffn.lin2.": "output.dense.",
    "output_layer_norm.": "output.LayerNorm.",
}
_RENAMED = {"mpnet": _MPNET, "distilbert": _DISTILBERT}
_HEADS = {
    "bert": {"pooler.dense.": "head.dense.", "classifier.": "head.out."},
    "roberta": {"classifier.dense.": "head.dense.", "classifier.out_proj.": "head.out."},
}
_HEADS |= {"xlm-roberta": _HEADS["roberta"], "camembert": _HEADS["roberta"]}
_KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


class _Sizes(ModelConfig):
    """The fields of a config.json that a graph needs; DistilBERT has names of its own."""

    hidden_size: Size = Field(validation_alias=AliasChoices("hidden_size", "dim"))
    num_attention_heads: Size = Field(
        validation_alias=AliasChoices("num_attention_heads", "n_heads")
    )
    num_hidden_layers: Annotated[int, Field(ge=0, le=1000)] = Field(
        validation_alias=AliasChoices("num_hidden_layers", "n_layers")
    )
    layer_norm_eps: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 1e-12


class _Index(BaseModel):
    weight_map: dict[str, str]


@dataclass(frozen=True)
class Encoder:
    """Weights by BERT's names, float32, and the settings that the graph needs."""

    hidden: int
    heads: int
    layers: int
    epsilon: float
    tensors: dict[str, Array]

    @property
    def positions(self) -> int:
        """The maximum tokens of a text, markers included."""
        return len(self.tensors["embeddings.position_embeddings.weight"])

    @property
    def has_head(self) -> bool:
        """Whether it is a cross-encoder."""
        return "head.out.weight" in self.tensors

    @property
    def types(self) -> bool:
        """Whether query and passage have different token types that matter."""
        return self.has_head and len(self.tensors["embeddings.token_type_embeddings.weight"]) > 1


def why_not(settings: ModelConfig, *, head: bool = False) -> str:
    """Why a model of this config.json, a cross-encoder if ``head``, cannot be converted."""
    if _family(settings) not in (_HEADS if head else FAMILIES):
        return f"model_type is {_family(settings)!r:.80}"
    wanted: dict[str, object] = {"hidden_act": "gelu", "activation": "gelu"}
    wanted |= {"position_embedding_type": "absolute", "is_decoder": False, "auto_map": None}
    for key, value in wanted.items():
        if (stated := getattr(settings, key)) not in (value, None):
            return f"{key} is {stated!r:.80}"
    return ""


def read_encoder(config: Path, weights: Path, *, head: bool = False) -> Encoder:
    """Read an encoder.

    Args:
        config: the model's config.json.
        weights: its model.safetensors, or the model.safetensors.index.json of its shards.
        head: it is a cross-encoder.

    Raises:
        EmbeddingError: it is another architecture, or a tensor is missing or has another shape.
    """
    stated = read_json(config, ModelConfig)
    if reason := why_not(stated, head=head):
        raise EmbeddingError(f"cannot convert a model whose {reason}")
    family, settings = _family(stated), read_json(config, _Sizes)
    tensors = _named(read_tensors(weights), family, head)
    positions = tensors.get("embeddings.position_embeddings.weight")
    if family in _AFTER_PADDING and positions is not None and positions.ndim:
        first = 1 + (1 if settings.pad_token_id is None else settings.pad_token_id)
        tensors["embeddings.position_embeddings.weight"] = positions[first:]
    hidden = settings.hidden_size
    tensors.setdefault("embeddings.token_type_embeddings.weight", np.zeros((1, hidden), np.float32))
    encoder = Encoder(
        hidden=hidden,
        heads=settings.num_attention_heads,
        layers=settings.num_hidden_layers,
        epsilon=settings.layer_norm_eps,
        tensors=tensors,
    )
    _check(encoder, family, head)
    return encoder


def read_tensors(weights: Path) -> dict[str, Array]:
    """The floating-point tensors of a safetensors file, or of the shards of an index, as float32.

    Raises:
        EmbeddingError: a file cannot be read, or a shard lies outside the index's folder.
    """
    files = [weights]
    if weights.name.endswith(".index.json"):
        files = [weights.parent / name for name in shards(weights)]
    return {name: tensor for file in files for name, tensor in _tensors(file).items()}


def shards(index: Path) -> list[str]:
    """The names of the files of weights beside an index, sorted.

    Raises:
        EmbeddingError: it is no index, or names a file elsewhere.
    """
    names = sorted({*read_json(index, _Index).weight_map.values()})
    if any(Path(name).name != name or "\\" in name or "\0" in name for name in names):
        raise EmbeddingError(f"{index.name} names a file that is not beside it")
    return names


def distance_bias(encoder: Encoder) -> Array:
    """MPNet's bias by head and distance, (heads, 2n - 1): a key that is n - 1 before comes first.

    Distances share 32 values, 16 a direction: each up to 7 has its own, farther ones share by the
    logarithm of the distance up to 128 (Raffel et al., T5, 2020).
    """
    table = encoder.tensors[DISTANCES]
    away = np.arange(-(encoder.positions - 1), encoder.positions)  # key's place less the query's
    half = len(table) // 2
    own = half // 2
    size = np.abs(away)
    far = np.log(np.maximum(size, 1) / own) / np.log(128 / own) * (half - own)
    shared = np.minimum(own + far.astype(np.int64), half - 1)
    bucket = np.where(size < own, size, shared) + np.where(away > 0, half, 0)
    bias: Array = table[bucket].T
    return bias


def _family(settings: ModelConfig) -> str:
    return "bert" if settings.model_type is None else settings.model_type


def _tensors(file: Path) -> dict[str, Array]:
    from safetensors import SafetensorError, deserialize

    read: Any = deserialize  # has no types
    try:
        held = read(file.read_bytes())
    except (OSError, SafetensorError) as error:
        raise EmbeddingError(f"cannot read {file.name}: {label_text(str(error))[:200]}") from error
    tensors = {}
    for name, info in held:
        if (kind := _KINDS.get(info["dtype"])) is None:
            continue
        try:
            value: Array = np.frombuffer(info["data"], kind).reshape(info["shape"])
        except (ValueError, OverflowError, TypeError) as error:
            raise EmbeddingError(f"cannot read {file.name}: {error}") from error
        if info["dtype"] == "BF16":  # the upper half of a float32
            value = (value.astype(np.uint32) << 16).view(np.float32)
        tensors[name] = value.astype(np.float32)
    return tensors


def _named(tensors: Mapping[str, Array], family: str, head: bool) -> dict[str, Array]:
    """The encoder's tensors by BERT's names, and those of its head."""
    parts = ("embeddings.", "encoder.", *(("head.",) if head else ()))
    renamed = {}
    for name, tensor in tensors.items():
        for prefix in ("bert.", "roberta.", "distilbert.", "mpnet."):
            name = name.removeprefix(prefix)
        for old, new in _RENAMED.get(family, {}).items():
            name = name.replace(old, new)
        for old, new in (_HEADS[family] if head else {}).items():
            name = new + name.removeprefix(old) if name.startswith(old) else name
        # The names of a norm's parameters in TensorFlow's first checkpoints.
        name = name.replace("LayerNorm.gamma", "LayerNorm.weight")
        name = name.replace("LayerNorm.beta", "LayerNorm.bias")
        if name.startswith(parts) and name != "embeddings.position_ids":
            renamed[name] = tensor
    return renamed


def _check(encoder: Encoder, family: str, head: bool) -> None:
    """Check that exactly the tensors that the graph needs exist, in their shapes."""
    hidden, own = encoder.hidden, encoder.tensors
    if hidden % encoder.heads:
        raise EmbeddingError(f"cannot convert: {encoder.heads} heads do not share {hidden} numbers")
    vectors = ["embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias"]
    matrices = []
    for layer in range(encoder.layers):
        at = f"encoder.layer.{layer}."
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            matrices.append(f"{at}attention.{part}.weight")
            vectors.append(f"{at}attention.{part}.bias")
        vectors.append(f"{at}output.dense.bias")
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            vectors += [f"{at}{norm}.weight", f"{at}{norm}.bias"]
    shapes: dict[str, tuple[int | None, ...]] = dict.fromkeys(vectors, (hidden,))
    shapes |= dict.fromkeys(matrices, (hidden, hidden))
    for layer in range(encoder.layers):
        at = f"encoder.layer.{layer}."
        shapes[f"{at}intermediate.dense.weight"] = (None, hidden)
        shapes[f"{at}intermediate.dense.bias"] = (None,)
        shapes[f"{at}output.dense.weight"] = (hidden, None)
    for table in ("word", "position", "token_type"):
        shapes[f"embeddings.{table}_embeddings.weight"] = (None, hidden)
    if family == "mpnet":
        shapes[DISTANCES] = (32, encoder.heads)
    if head:
        shapes |= {"head.dense.weight": (hidden, hidden), "head.dense.bias": (hidden,)}
        shapes |= {"head.out.weight": (1, hidden), "head.out.bias": (1,)}
    for name, shape in shapes.items():
        if name not in own:
            raise EmbeddingError(f"cannot convert: the weights lack {name}")
        sizes = own[name].shape
        fits = len(sizes) == len(shape) and all(
            size == wanted or wanted is None for size, wanted in zip(sizes, shape, strict=True)
        )
        if not fits or not own[name].size:
            raise EmbeddingError(f"cannot convert: {name} has the shape {sizes}")
        if not np.isfinite(own[name]).all():
            raise EmbeddingError(f"cannot convert: {name} has numbers that are not finite")
    if unknown := sorted(own.keys() - shapes.keys()):
        raise EmbeddingError(
            f"cannot convert: the weights have a part of its own, {label_text(unknown[0])[:100]}"
        )

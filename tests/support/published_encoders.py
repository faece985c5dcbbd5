"""Tiny encoders in the layout in which each family is published, with weights from a seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

HIDDEN, WIDE, LAYERS, PIECES, POSITIONS = 24, 40, 2, 60, 302
FAMILIES = ("bert", "roberta", "xlm-roberta", "distilbert", "mpnet")
PAIR = {"ids": [2, 5, 6, 3, 20, 21, 22, 3], "types": [0, 0, 0, 0, 1, 1, 1, 1]}
IDS = {"short": [5, 6, 7], "long": [3 + (n * 7) % 50 for n in range(290)]}
Tensors = dict[str, np.ndarray[Any, Any]]


def config(family: str) -> dict[str, Any]:
    common = {"model_type": family, "vocab_size": PIECES, "max_position_embeddings": POSITIONS}
    if family == "distilbert":
        own = {"dim": HIDDEN, "n_heads": 3, "n_layers": LAYERS, "hidden_dim": WIDE}
        return common | own | {"activation": "gelu", "pad_token_id": 0}
    own = {"hidden_size": HIDDEN, "num_attention_heads": 3, "num_hidden_layers": LAYERS}
    own |= {"intermediate_size": WIDE, "pad_token_id": 0 if family == "bert" else 1}
    if family != "mpnet":
        own |= {"type_vocab_size": 2 if family == "bert" else 1}
    return common | own | {"hidden_act": "gelu", "layer_norm_eps": 1e-5}


def tensors(family: str) -> Tensors:
    """The encoder's tensors by the names of the family, as its checkpoints have them."""
    shapes: dict[str, tuple[int, ...]] = {}
    names = ("query", "key", "value")

    def linear(name: str, out: int, into: int) -> None:
        shapes.update({f"{name}.weight": (out, into), f"{name}.bias": (out,)})

    def norm(name: str) -> None:
        shapes.update({f"{name}.weight": (HIDDEN,), f"{name}.bias": (HIDDEN,)})

    tables = {"word": PIECES, "position": POSITIONS}
    if family not in ("distilbert", "mpnet"):
        tables["token_type"] = 2 if family == "bert" else 1
    for table, rows in tables.items():
        shapes[f"embeddings.{table}_embeddings.weight"] = (rows, HIDDEN)
    norm("embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"{'transformer' if family == 'distilbert' else 'encoder'}.layer.{layer}"
        if family == "distilbert":
            for part in ("attention.q_lin", "attention.k_lin", "attention.v_lin"):
                linear(f"{at}.{part}", HIDDEN, HIDDEN)
            linear(f"{at}.attention.out_lin", HIDDEN, HIDDEN)
            norm(f"{at}.sa_layer_norm")
            linear(f"{at}.ffn.lin1", WIDE, HIDDEN)
            linear(f"{at}.ffn.lin2", HIDDEN, WIDE)
            norm(f"{at}.output_layer_norm")
            continue
        if family == "mpnet":
            for part in "qkvo":
                linear(f"{at}.attention.attn.{part}", HIDDEN, HIDDEN)
            norm(f"{at}.attention.LayerNorm")
        else:
            for part in names:
                linear(f"{at}.attention.self.{part}", HIDDEN, HIDDEN)
            linear(f"{at}.attention.output.dense", HIDDEN, HIDDEN)
            norm(f"{at}.attention.output.LayerNorm")
        linear(f"{at}.intermediate.dense", WIDE, HIDDEN)
        linear(f"{at}.output.dense", HIDDEN, WIDE)
        norm(f"{at}.output.LayerNorm")
    if family == "mpnet":
        shapes["encoder.relative_attention_bias.weight"] = (32, 3)
    if family != "distilbert":
        linear("pooler.dense", HIDDEN, HIDDEN)
    rng = np.random.default_rng(len(family))
    return {name: rng.normal(size=each).astype(np.float32) * 0.4 for name, each in shapes.items()}


def cross_encoder(family: str) -> Tensors:
    """The tensors of a cross-encoder of bert or roberta, with one score a pair."""
    rng = np.random.default_rng(8)
    found = {f"{family}.{name}": tensor for name, tensor in tensors(family).items()}
    shapes: dict[str, tuple[int, ...]] = {"classifier.weight": (1, HIDDEN), "classifier.bias": (1,)}
    if family != "bert":
        found = {name: tensor for name, tensor in found.items() if "pooler" not in name}
        shapes = {"classifier.dense.weight": (HIDDEN, HIDDEN), "classifier.dense.bias": (HIDDEN,)}
        shapes |= {"classifier.out_proj.weight": (1, HIDDEN), "classifier.out_proj.bias": (1,)}
    return found | {n: rng.normal(size=each).astype(np.float32) for n, each in shapes.items()}


def write(folder: Path, family: str, *, head: bool = False) -> None:
    """Write config.json and model.safetensors."""
    folder.mkdir(parents=True, exist_ok=True)
    labels = {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}} if head else {}
    (folder / "config.json").write_text(json.dumps(config(family) | labels))
    held = cross_encoder(family) if head else tensors(family)
    save_file(held, folder / "model.safetensors", metadata={"format": "pt"})

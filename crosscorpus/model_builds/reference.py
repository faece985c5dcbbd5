"""A plain encoder in NumPy, float32, one text at a time, to compare a converted graph with."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from crosscorpus.model_builds.encoder_weights import DISTANCES, Array, Encoder, distance_bias


def score(encoder: Encoder, ids: Sequence[int], types: Sequence[int]) -> float:
    """A cross-encoder's score of a pair."""
    first = hidden_states(encoder, ids, types if encoder.types else ())[0]
    own = encoder.tensors
    dense = np.tanh(first @ own["head.dense.weight"].T + own["head.dense.bias"])
    return float((dense @ own["head.out.weight"].T + own["head.out.bias"])[0])


def hidden_states(encoder: Encoder, ids: Sequence[int], types: Sequence[int] = ()) -> Array:
    """The last states (n, hidden) of a text of n tokens, each of type 0 or of these types."""
    own, count = encoder.tensors, len(ids)
    states = own["embeddings.word_embeddings.weight"][list(ids)]
    states = states + own["embeddings.position_embeddings.weight"][:count]
    states = states + own["embeddings.token_type_embeddings.weight"][list(types) or [0]]
    states = _norm(encoder, states, "embeddings.LayerNorm")
    bias: Array = np.zeros((encoder.heads, count, count), np.float32)
    if DISTANCES in own:
        places = np.arange(count)
        bias = distance_bias(encoder)[:, places - places[:, None] + encoder.positions - 1]
    for layer in range(encoder.layers):
        at = f"encoder.layer.{layer}"
        attended = _linear(encoder, _attended(encoder, states, at, bias), f"{at}.attention.output")
        normed = _norm(encoder, states + attended, f"{at}.attention.output.LayerNorm")
        wide = _gelu(_linear(encoder, normed, f"{at}.intermediate"))
        narrow = _linear(encoder, wide, f"{at}.output")
        states = _norm(encoder, normed + narrow, f"{at}.output.LayerNorm")
    return states


def _attended(encoder: Encoder, states: Array, at: str, bias: Array) -> Array:
    size = encoder.hidden // encoder.heads
    parts = []
    for part in ("query", "key", "value"):
        name = f"{at}.attention.self.{part}"
        weight, added = encoder.tensors[f"{name}.weight"], encoder.tensors[f"{name}.bias"]
        parts.append((states @ weight.T + added).reshape(-1, encoder.heads, size).swapaxes(0, 1))
    query, key, value = parts
    scores = query @ key.swapaxes(1, 2) / np.float32(math.sqrt(size)) + bias
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = shares / shares.sum(axis=-1, keepdims=True) @ value
    joined: Array = mixed.swapaxes(0, 1).reshape(-1, encoder.hidden)
    return joined


def _linear(encoder: Encoder, states: Array, name: str) -> Array:
    weight = encoder.tensors[f"{name}.dense.weight"]
    out: Array = states @ weight.T + encoder.tensors[f"{name}.dense.bias"]
    return out


def _norm(encoder: Encoder, states: Array, name: str) -> Array:
    centred = states - states.mean(axis=-1, keepdims=True)
    deviation = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + encoder.epsilon)
    gain, bias = encoder.tensors[f"{name}.weight"], encoder.tensors[f"{name}.bias"]
    out: Array = centred / deviation * gain + bias
    return out


def _gelu(values: Array) -> Array:
    """x times the normal distribution function, whose erf is exact to 1.5e-7.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, 7.1.26.
    """
    size = np.abs(values) / np.float32(math.sqrt(2))
    t = 1 / (1 + np.float32(0.3275911) * size)
    factors = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
    tail = np.zeros_like(t)
    for factor in factors:
        tail = (tail + np.float32(factor)) * t
    erf = np.sign(values) * (1 - tail * np.exp(-np.square(size)))
    out: Array = values * np.float32(0.5) * (1 + erf)
    return out

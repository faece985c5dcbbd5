"""Loads embedding models by name, also a user's own models and rerankers."""

import inspect
from pathlib import Path
from typing import Any

from operators.embedding.protocol import Embedder, EmbeddingError, ModelNotInstalled
from operators.errors import CrosscorpusError, UnknownName, suggest
from operators.foundation.own_object import own_object

_EMBEDDERS = ("minilm", "static", "onnx:DIR", "model2vec:DIR", "hf:ORG/NAME", "openai:MODEL@URL")
_OURS = {
    "embedders": ("embedding model", _EMBEDDERS),
    "rerankers": ("reranker", ("onnx:DIR", "hf:ORG/NAME")),
}
"""What each group contains, and its names but those of a user's own."""


def load_embedder(name: str) -> Embedder:
    """Load a model by its name; offline, except for ``openai:``.

    Args:
        name: ``minilm`` (all-MiniLM-L6-v2, 384 dimensions, installed once by
            ``crosscorpus models install``), ``static`` (wordllama, extra ``static``),
            ``onnx:DIR`` (any model directory, see :mod:`operators.embedding.onnx`),
            ``model2vec:DIR`` (static vectors, see :mod:`operators.embedding.static`),
            ``hf:ORG/NAME`` (installed once by ``crosscorpus models install hf:ORG/NAME``),
            ``openai:MODEL@URL`` (an OpenAI-compatible endpoint) or ``python:MODULE:FUNCTION`` (a
            function of your own without arguments that returns an
            :class:`operators.embedding.protocol.Embedder`).

    Raises:
        ModelNotInstalled: the files, the extra or the module are missing.
        EmbeddingError: your own model lacks a part of its protocol; names it.
        UnknownName: no such model.
    """
    kind, _, rest = name.partition(":")
    if name == "minilm":
        from operators.embedding.minilm import load_minilm

        return load_minilm()
    if name == "static":
        from operators.embedding.static import load_static

        return load_static()
    if kind == "onnx" and rest:
        from operators.embedding.onnx import load_directory

        return load_directory(Path(rest).expanduser())
    if kind == "model2vec" and rest:
        from operators.embedding.static import load_model2vec

        return load_model2vec(Path(rest).expanduser())
    if kind == "hf" and rest:
        from operators.embedding.hub_models import load_hub_model

        return load_hub_model(name)
    if kind == "openai" and rest:
        from operators.embedding.openai import load_openai

        return load_openai(rest)
    embedder: Embedder = own_model("embedders", name)
    parts = inspect.getmembers(
        Embedder, lambda one: inspect.isfunction(one) or type(one) is property
    )
    if lacking := [part for part, _ in parts if part[0] != "_" and not hasattr(embedder, part)]:
        raise EmbeddingError(f"{name}: its {type(embedder).__name__} lacks {', '.join(lacking)}")
    return embedder


def own_model(group: str, name: str) -> Any:
    """The result of the loader called ``name``.

    Args:
        group: ``embedders`` or ``rerankers``.
        name: ``python:MODULE:FUNCTION``, a function without arguments.

    Raises:
        ModelNotInstalled: there is no such module or function, or it does not import.
        UnknownName: no loader has this name.
    """
    try:
        load = own_object(name)
    except CrosscorpusError as error:
        raise ModelNotInstalled(str(error)) from error
    if load is None:
        what, ours = _OURS[group]
        known = [*ours, "python:MODULE:FUNCTION"]
        raise UnknownName(f"unknown {what} {name!r}{suggest(name, known)}")
    return load()

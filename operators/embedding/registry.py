"""Loading an embedding model by its name."""

import inspect
from pathlib import Path

from operators.embedding.own_models import own_model
from operators.embedding.protocol import Embedder, EmbeddingError
from operators.errors import UnknownName, suggest
from operators.foundation.plugins import plugin_names


def load_embedder(name: str, *, home: Path | None = None) -> Embedder:
    """Load a model by its name; offline, except for ``openai:``.

    Args:
        name: ``minilm`` (all-MiniLM-L6-v2, 384 dimensions, installed once by
            ``crosscorpus models install``), ``static`` (wordllama, extra ``static``),
            ``onnx:DIR`` (any model directory, see :mod:`operators.embedding.onnx`),
            ``openai:MODEL@URL`` (an OpenAI-compatible endpoint), ``python:MODULE:FUNCTION`` (a
            function of your own without arguments that returns an
            :class:`operators.embedding.protocol.Embedder`), or the name that a package registers
            (:mod:`operators.foundation.plugins`).
        home: where models are installed; default: :func:`operators.foundation.data_dir.data_home`.

    Raises:
        ModelNotInstalled: the files, the extra or the module are missing.
        EmbeddingError: a model of your own lacks a part of its protocol; names it.
        UnknownName: no such model.
    """
    kind, _, rest = name.partition(":")
    if name == "minilm":
        from operators.embedding.minilm import load_minilm

        return load_minilm(home)
    if name == "static":
        from operators.embedding.static import load_static

        return load_static()
    if kind == "onnx" and rest:
        from operators.embedding.onnx import load_directory

        return load_directory(Path(rest).expanduser())
    if kind == "openai" and rest:
        from operators.embedding.openai import load_openai

        return load_openai(rest)
    embedder: Embedder | None = own_model("embedders", name)
    if embedder is None:
        known = ["minilm", "static", "onnx:DIR", "openai:MODEL@URL", "python:MODULE:FUNCTION"]
        known += plugin_names("embedders")
        raise UnknownName(f"unknown embedding model {name!r}{suggest(name, known)}")
    parts = inspect.getmembers(
        Embedder, lambda one: inspect.isfunction(one) or type(one) is property
    )
    lacking = [part for part, _ in parts if part[0] != "_" and not hasattr(embedder, part)]
    if lacking:
        raise EmbeddingError(f"{name}: its {type(embedder).__name__} lacks {', '.join(lacking)}")
    return embedder

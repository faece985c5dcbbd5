"""Loading an embedding model by its name."""

import importlib
import inspect
from pathlib import Path

from operators.embedding.protocol import Embedder, EmbeddingError, ModelNotInstalled
from operators.errors import UnknownName, suggest


def load_embedder(name: str, *, home: Path | None = None) -> Embedder:
    """Load a model by its name; offline, except for ``openai:``.

    Args:
        name: ``minilm`` (all-MiniLM-L6-v2, 384 dimensions, installed once by
            ``crosscorpus models install``), ``static`` (wordllama, extra ``static``),
            ``onnx:DIR`` (any model directory, see :mod:`operators.embedding.onnx`),
            ``openai:MODEL@URL`` (an OpenAI-compatible endpoint) or ``python:MODULE:FUNCTION`` (a
            function of your own without arguments that returns an
            :class:`operators.embedding.protocol.Embedder`).
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
    if kind == "python" and ":" in rest:
        return _own(name, *rest.rsplit(":", 1))
    known = ["minilm", "static", "onnx:DIR", "openai:MODEL@URL", "python:MODULE:FUNCTION"]
    raise UnknownName(f"unknown embedding model {name!r}{suggest(name, known)}")


def _own(name: str, module: str, function: str) -> Embedder:
    try:
        load = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ModelNotInstalled(f"{name}: {error}") from error
    embedder: Embedder = load()
    parts = inspect.getmembers(
        Embedder, lambda one: inspect.isfunction(one) or type(one) is property
    )
    lacking = [part for part, _ in parts if part[0] != "_" and not hasattr(embedder, part)]
    if lacking:
        raise EmbeddingError(f"{name}: its {type(embedder).__name__} lacks {', '.join(lacking)}")
    return embedder

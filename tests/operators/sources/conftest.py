from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"crosscorpus_tests_{name}", Path(__file__).with_name(f"{name}.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_SHAPES = _load("github_shapes")


@pytest.fixture(scope="session")
def github() -> ModuleType:
    """Items in the shapes of GitHub's API."""
    return _SHAPES


_TREE = _load("working_tree")


@pytest.fixture(scope="session")
def working_tree() -> ModuleType:
    """Git, run as a person would run it."""
    return _TREE


@pytest.fixture
def repo(tmp_path: Path) -> Any:
    """A working tree without commits, in the folder ``app``."""
    return _TREE.WorkingTree(tmp_path / "app")


@pytest.fixture(scope="session")
def make_pdf() -> Callable[..., bytes]:
    """Small PDFs with text, bookmarks, an information dictionary or a password."""
    made: Callable[..., bytes] = _load("pdf_maker").make_pdf
    return made


@pytest.fixture
def export(tmp_path: Path) -> Callable[..., Path]:
    """Write values as one JSON array."""

    def write(*values: Any, name: str = "export.json") -> Path:
        file = tmp_path / name
        file.write_text(json.dumps(list(values)))
        return file

    return write


_SERVER = _load("github_server")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A GitHub on this machine, with one empty repository, ``org/app``."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GITHUB_API_URL", "HTTP_PROXY", "http_proxy",
                 "ALL_PROXY", "all_proxy"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    with _SERVER.serving(_SERVER.GitHub()) as state:
        yield state

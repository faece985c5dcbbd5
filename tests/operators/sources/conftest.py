from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from github_server import GitHub, serving
from working_tree import WorkingTree


@pytest.fixture
def repo(tmp_path: Path) -> Any:
    """A working tree without commits, in the folder ``app``."""
    return WorkingTree(tmp_path / "app")


@pytest.fixture
def export(tmp_path: Path) -> Callable[..., Path]:
    """Write values as one JSON array."""

    def write(*values: Any, name: str = "export.json") -> Path:
        file = tmp_path / name
        file.write_text(json.dumps(list(values)))
        return file

    return write


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A GitHub on this machine, with one empty repository, ``org/app``."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GITHUB_API_URL", "HTTP_PROXY", "http_proxy",
                 "ALL_PROXY", "all_proxy"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    with serving(GitHub()) as state:
        yield state

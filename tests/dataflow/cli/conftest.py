"""What several commands are tried on: a collection of a git repository, one document."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

REPOSITORY_FILES = {
    "src/cache.py": "def flush_cache():\n    '''Write every dirty entry to disk.'''\n    write()\n",
    "docs/cache.md": "# Cache\n\nThe cache is flushed once a minute.\n",
    "README.md": "# App\n\nAn application with a cache.\n",
}


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("app")
    for name, text in REPOSITORY_FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for command in (
        ["init", "-q"],
        ["add", "."],
        [*identity, "commit", "-qm", "Flush the cache once a minute"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="session")
def collection(crosscorpus: Any, repository: Path) -> str:
    done = crosscorpus("ingest", "git", str(repository), "--repo", "org/app", "-C", "cli")
    assert done.returncode == 0, done.stderr
    return "cli"


@pytest.fixture
def one_document(tmp_path: Path) -> tuple[str, ...]:
    """The arguments that ingest one document into ``wiki``."""
    file = tmp_path / "documents.jsonl"
    file.write_text('{"doc_id": "a", "corpus": "wiki", "text": "flush the cache"}\n')
    return ("ingest", "documents", str(file))


@pytest.fixture(scope="session")
def github_shapes() -> ModuleType:
    """Makes issues and comments as GitHub's API gives them."""
    return _load("github_shapes")


@pytest.fixture(scope="session")
def github_server() -> ModuleType:
    """Serves them on this machine."""
    return _load("github_server")


def _load(name: str) -> ModuleType:
    place = Path(__file__).parents[2] / "operators" / "sources" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"crosscorpus_cli_{name}", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module

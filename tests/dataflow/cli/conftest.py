"""What several commands are tried on: a collection of a git repository, one document."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ingested import git

# There is a GitHub to serve, and items in the shapes of its API.
sys.path.insert(0, str(Path(__file__).parents[2] / "operators" / "sources"))

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
    message = "Flush the cache once a minute"
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", message]):
        git(folder, *command)
    return folder


@pytest.fixture(scope="session")
def collection(crosscorpus: Any, repository: Path) -> str:
    done = crosscorpus("ingest", "git", str(repository), "--repo", "org/app", "-C", "cli")
    assert done.returncode == 0, done.stderr
    return "cli"


@pytest.fixture(scope="session")
def ingest(crosscorpus: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Ingest rows into a collection by the command, and give what it said."""

    def run(name: str, *rows: dict[str, Any]) -> Any:
        file = tmp_path_factory.mktemp("rows") / "documents.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return crosscorpus("ingest", "documents", str(file), "-C", name)

    return run


@pytest.fixture
def one_document(tmp_path: Path) -> tuple[str, ...]:
    """The arguments that ingest one document into ``wiki``."""
    file = tmp_path / "documents.jsonl"
    file.write_text('{"doc_id": "a", "corpus": "wiki", "text": "flush the cache"}\n')
    return ("ingest", "documents", str(file))

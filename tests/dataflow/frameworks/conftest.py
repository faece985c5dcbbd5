"""A driver over one small collection, in which many passages are near-duplicates."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from ingesting import ingest_documents

from dataflow import build_driver, load_config
from dataflow.driver.retrieval_driver import RetrievalDriver
from operators.embedding.onnx import DirectoryEmbedder
from operators.postgres.store import drop_collection, open_store

COLLECTION = f"frameworks-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
"""Workers may share a server."""
EVERYONE = {"allowed": "everyone"}
ROWS = [
    {"doc_id": "cache", "path": "src/cache.py", "corpus": "code", "repo": "org/app"}
    | {"url": "https://example.org/cache.py"}
    | {"text": "class Cache:\n    def flush(self):\n        '''Flush the cache twice.'''\n"},
    {"doc_id": "why", "path": "docs/why.md", "corpus": "docs", "repo": "org/app", "version": "3.5"}
    | {"title": "Why", "text": "The cache is flushed twice, since workers may die in between."},
    {"doc_id": "page", "path": "Cache", "corpus": "wiki", "repo": "org/wiki", "title": "Cache"}
    | {"text": "Who changes the cache must flush it before and after, or entries are lost."},
    {"doc_id": "old", "path": "notes.md", "corpus": "docs", "repo": "org/old", "title": "Notes"}
    | {"text": "An entry of the cache lives an hour.", "created_at": "2020-02-02T00:00:00Z"}
    | {"allowed": ["ann"]},
    *(
        {"doc_id": f"copy-{n}", "path": f"copies/{n}.md", "corpus": "wiki", "repo": "org/copies"}
        | {"text": "Why is the cache flushed twice? It was asked on many a page of the wiki."}
        for n in range(120)
    ),
]


@pytest.fixture(scope="session")
def driver(
    server_dsn: str, minilm: DirectoryEmbedder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RetrievalDriver]:
    documents = tmp_path_factory.mktemp("frameworks") / "documents.jsonl"
    documents.write_text("".join(json.dumps(EVERYONE | row) + "\n" for row in ROWS))
    with open_store(server_dsn, COLLECTION, create=True) as store:
        ingest_documents(store, minilm, documents)
    asking = {"dsn": server_dsn, "embedder": minilm}
    with build_driver(load_config("default"), COLLECTION, **asking) as built:
        yield built
    drop_collection(server_dsn, COLLECTION)


@pytest.fixture
def home(tmp_path: Path, driver: RetrievalDriver, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run in, whose environment names the server and the collection."""
    monkeypatch.setenv("CROSSCORPUS_DSN", driver.store.dsn)
    monkeypatch.chdir(tmp_path)
    return tmp_path

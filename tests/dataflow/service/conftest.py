"""The tools over a real driver of a small collection."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import httpx2
import psycopg
import pytest
import uvicorn
from ingested import git
from ingesting import ingest_documents, ingest_git
from word_embedder import WordEmbedder

from dataflow import build_driver, load_config
from dataflow.service.routes import http_app
from dataflow.service.running import configured
from dataflow.service.tools import Service
from operators.postgres.store import drop_collection, open_store

NAME = "service-tests"
CODE = "\n".join(f"def step_{n}(cache): return flush(cache, {n})" for n in range(1, 41))
DOCUMENTS = [
    {"doc_id": "w", "corpus": "wiki", "path": "w.md", "text": "Why the cache is flushed twice."},
    *(
        {"doc_id": f"v{n}", "corpus": "docs", "path": f"docs/{n}.0/limits.md", "version": f"{n}.0"}
        | {"text": f"# Limits\n\nThe cache keeps {n}00 entries.\n\nIt is flushed at night."}
        for n in (1, 2)
    ),
    *(
        {"doc_id": f"h{n}", "corpus": "history", "text": f"Flush the cache, attempt {n}: word{n}"}
        for n in range(45)
    ),
]


@pytest.fixture(scope="session")
def code() -> str:
    """The text of src/a.py in the repository org/app."""
    return CODE


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working tree of org/app."""
    app = tmp_path_factory.mktemp("service") / "app"
    (app / "src").mkdir(parents=True)
    (app / "src/a.py").write_text(CODE + "\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "Steps"]):
        git(app, *command)
    return app


@pytest.fixture(scope="session")
def service(server_dsn: str, app: Path) -> Iterator[Service]:
    file = app.parent / "documents.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in DOCUMENTS))
    config = load_config("default").with_changes({"variants": {"packed": "tokens"}})
    embedder = WordEmbedder()
    with open_store(server_dsn, NAME, create=True, max_size=8) as store:
        ingest_documents(store, embedder, file)
        ingest_git(store, embedder, app, repo="org/app")
        with build_driver(config, store=store, embedder=embedder) as driver:
            yield Service(driver, store, "http://127.0.0.1:1/p")
    drop_collection(server_dsn, NAME)


@pytest.fixture
def slow(service: Service) -> Callable[[str], AbstractContextManager[Service]]:
    """A driver with this ``on_corpus_error``, whose searches wait longer than they may."""

    @contextmanager
    def made(on_corpus_error: str) -> Iterator[Service]:
        change = {"on_corpus_error": on_corpus_error, "deadline_s": 0.5}
        config = service.driver.config.with_changes(change)
        with (
            build_driver(config, store=service.store, embedder=WordEmbedder()) as driver,
            psycopg.connect(service.store.dsn) as locker,
        ):
            driver.execute(["results"], {"query": "warm up"})
            locker.execute(f'LOCK TABLE "{service.store.schema}".chunks IN ACCESS EXCLUSIVE MODE')
            yield Service(driver, service.store)

    return made


@pytest.fixture(scope="session")
def client(service: Service) -> Iterator[httpx2.Client]:
    app = http_app(lambda: nullcontext(service), "1")
    server = uvicorn.Server(configured(app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as one:
        yield one
    server.should_exit = True
    thread.join()

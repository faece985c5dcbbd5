"""Drivers of a small graph without a store, and of the real graph on a real server."""

import json

import pytest
from ingesting import ingest_documents
from word_embedder import WordEmbedder

from dataflow import build_driver
from dataflow.driver.retrieval_driver import RetrievalDriver, build_graph
from operators.postgres.store import drop_collection, open_store

COLLECTION = "driver-tests"
DOCUMENTS = [
    ("code", "cache.py", "def flush(cache): the cache is flushed twice after a merge"),
    ("wiki", "Caching", "why the cache is flushed: the cache keeps two generations"),
    ("docs", "guide.md", "install the package and configure the server"),
]


@pytest.fixture
def build(small, recorder):
    """Build a driver whose corpora behave as told: an error is raised, a number is slept."""
    built = []

    def make(behaviour=None, store=None, **changes):
        config = small(**changes)
        store = store or recorder(**(behaviour or {}))
        driver = RetrievalDriver(config, build_graph(config), {"store": store, "embedder": None})
        built.append(driver)
        return driver

    yield make
    for driver in built:
        driver.close()


class Words(WordEmbedder):
    """Takes a whole passage."""

    max_tokens = 254


@pytest.fixture(scope="session")
def words():
    return Words


@pytest.fixture(scope="session")
def open_driver(server_dsn, tmp_path_factory):
    """Build a driver of the real graph over a collection of three documents."""
    file = tmp_path_factory.mktemp("documents") / "documents.jsonl"
    lines = [
        {"doc_id": name, "corpus": corpus, "title": name, "text": text, "path": name}
        for corpus, name, text in DOCUMENTS
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def make(config="default", *, collection=COLLECTION, embedder=None):
        return build_driver(config, collection, dsn=server_dsn, embedder=embedder or Words())

    with open_store(server_dsn, COLLECTION, create=True, max_size=2) as store:
        ingest_documents(store, Words(), file)
        yield make
        drop_collection(store.dsn, COLLECTION)


@pytest.fixture(scope="session")
def driver(open_driver):
    """The default configuration over those documents."""
    with open_driver() as built:
        yield built

"""A search that fails, and one that need not run: what stands in for it."""

import pytest

from dataflow import load_config
from dataflow.driver.fail_open import stand_in
from dataflow.driver.retrieval_driver import build_graph
from dataflow.execution.scheduler import NodeTimeout
from dataflow.retrieval import corpus as corpus_nodes
from operators.errors import SearchError
from operators.frames import NOTES, empty
from operators.postgres.search import chunk_reader

ASK = {"query": "why is the cache flushed twice?"}
FRAMES = load_config("default").catalog.frames
EVERYTHING = ["results", "notes", "outcomes"]


@pytest.fixture(scope="module")
def failed():
    """What stands in for a node of the shipped graph."""
    config = load_config("default")
    nodes = build_graph(config).graph.nodes

    def of(name, error, seconds=0.0):
        return stand_in(nodes[name], error, seconds, FRAMES, config.corpora)

    return of


def test_a_node_says_itself_what_stands_in_for_it(failed):
    for name in ("known_versions", "collections"):
        assert failed(name, ValueError("x")) is None
    for name in ("unmet_filters", "replica_lag", "files_changed_later", "incomplete_corpora"):
        assert failed(name, ValueError("x")).equals(empty(NOTES))
    with pytest.raises(ValueError, match="out of memory"):
        failed("similarity_index", ValueError("out of memory"))


def test_on_corpus_error_raise_raises_the_search_s_own_error(build):
    with pytest.raises(ValueError, match="no such index"):
        build({"wiki": ValueError("no such index")}, on_corpus_error="raise").execute(
            ["results"], inputs=ASK
        )
    with pytest.raises(NodeTimeout, match=r"_search had no result after 0\.05 s"):
        build({"wiki": 0.3}, on_corpus_error="raise", deadline_s=0.05).execute(
            ["results"], inputs=ASK
        )


def test_one_broken_corpus_leaves_the_others_and_says_so(driver, monkeypatch):
    works = corpus_nodes.search_vectors

    def breaks(store, corpus, *rest, **options):
        if corpus == "wiki":
            raise OSError("disk on fire")
        return works(store, corpus, *rest, **options)

    monkeypatch.setattr(corpus_nodes, "search_vectors", breaks)
    out = driver.execute(EVERYTHING, inputs=ASK)
    failed = out["outcomes"].filter(status="failed").select("corpus", "channel", "error")
    assert failed.rows() == [("wiki", "vector", "disk on fire")]
    assert "code" in set(out["results"]["corpus"])
    assert any("wiki" in note for note in out["notes"]["note"])


def test_without_the_chunks_of_the_only_collection_there_is_no_answer(
    driver, open_driver, monkeypatch
):
    def breaks(*rest, **options):
        raise OSError("disk on fire")

    monkeypatch.setattr(chunk_reader, "fetch_chunks", breaks)
    with pytest.raises(SearchError, match=r"no answer: chat chunks, .*wiki chunks: disk on fire"):
        driver.execute(EVERYTHING, inputs=ASK)
    raising = load_config().with_changes({"on_corpus_error": "raise"})
    with open_driver(raising) as strict, pytest.raises(OSError, match="disk on fire"):
        strict.execute(["results"], inputs=ASK)

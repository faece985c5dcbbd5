"""A search that fails, and one that need not run: what stands in for it."""

import polars as pl
import pytest

from dataflow import load_config
from dataflow.driver.fail_open import not_searched, stand_in
from dataflow.driver.retrieval_driver import build_graph
from dataflow.execution.scheduler import NodeTimeout
from dataflow.retrieval import corpus as corpus_nodes
from operators.errors import SearchError
from operators.frames import NOTES, READ_CHUNKS, TEXT_LISTS, UNIFIED, empty
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


def test_a_failed_search_gives_no_rows_and_says_what_happened(failed):
    found = failed("wiki.text_search", ValueError("no such index"), 0.25)
    assert found.lists.equals(empty(TEXT_LISTS))
    outcome = found.outcome.row(0, named=True)
    assert (outcome["corpus"], outcome["channel"]) == ("wiki", "text")
    assert (outcome["status"], outcome["error"], outcome["elapsed_ms"]) == (
        "failed",
        "no such index",
        250,
    )


def test_chunks_that_cannot_be_read_are_lacking_in_every_corpus(failed):
    found = failed("read_chunks", TimeoutError("slow"), 0.25)
    assert found["chunks"].equals(empty(READ_CHUNKS))
    told = found["chunks_outcome"]["corpus", "channel", "status", "elapsed_ms"].rows()
    corpora = sorted(load_config("default").corpora)
    assert told == [(corpus, "chunks", "timed_out", 250) for corpus in corpora]


def test_a_node_says_itself_what_stands_in_for_it(failed):
    for name in ("known_versions", "wiki.collection"):
        assert failed(name, ValueError("x")) is None
    for name in ("unmet_filters", "replica_lag", "files_changed_later", "incomplete_corpora"):
        assert failed(name, ValueError("x")).equals(empty(NOTES))
    with pytest.raises(ValueError, match="out of memory"):
        failed("similarity_index", ValueError("out of memory"))


def test_nothing_is_searched_where_the_answers_of_the_corpora_are_given():
    found = pl.DataFrame({"chunk_id": [3, 1, 3, 3], "query_id": 0})
    found = found.with_columns(corpus=pl.Series(["code", "code", "code", "wiki"]))
    unified = found.join(empty(UNIFIED), on="chunk_id", how="left")
    corpora = ["code", "wiki"]
    instead = not_searched({"unified": unified, "top_k": 3}, corpora, FRAMES)
    hits = instead["vector_hits"]["corpus", "chunk_id"].rows()
    assert hits == [("code", 3), ("code", 1), ("wiki", 3)]
    for corpus in corpora:
        for channel in ("vector", "text"):
            given = instead[f"{corpus}.{channel}_search"]
            assert given.lists.is_empty()
            assert given.outcome["corpus", "channel", "status"].rows() == [
                (corpus, channel, "overridden")
            ]
        assert instead[f"{corpus}.linked_search"].lists.is_empty()
    kept = not_searched({"unified": unified}, corpora, FRAMES, ["text_hits", "linked_hits"])
    assert {name for name in kept if "search" in name} == {
        "code.vector_search",
        "wiki.vector_search",
    }


def test_a_list_that_is_given_stands_for_its_own_search_only():
    instead = not_searched({"text_hits": pl.DataFrame()}, ["wiki"], FRAMES)
    assert list(instead) == ["wiki.text_search"]
    instead = not_searched({"wiki.vector_search": pl.DataFrame()}, ["code", "wiki"], FRAMES)
    assert list(instead) == ["wiki.linked_search"]


def test_a_failing_search_leaves_an_outcome_and_the_others_answer(build):
    outcomes = build({"wiki": ValueError("no such index\nmore")}).execute(["outcomes"], inputs=ASK)
    rows = outcomes["outcomes"].filter(status="failed")
    assert rows.select("corpus", "channel", "error").rows() == [("wiki", "vector", "no such index")]
    assert outcomes["outcomes"].height == 4


def test_on_corpus_error_raise_raises_the_search_s_own_error(build):
    with pytest.raises(ValueError, match="no such index"):
        build({"wiki": ValueError("no such index")}, on_corpus_error="raise").execute(
            ["results"], inputs=ASK
        )
    with pytest.raises(NodeTimeout, match=r"_search had no result after 0\.05 s"):
        build({"wiki": 0.3}, on_corpus_error="raise", deadline_s=0.05).execute(
            ["results"], inputs=ASK
        )


def test_one_broken_corpus_leaves_the_others_and_says_so(driver, open_driver, monkeypatch):
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
    raising = load_config().with_changes({"on_corpus_error": "raise"})
    with open_driver(raising) as strict, pytest.raises(OSError, match="disk on fire"):
        strict.execute(["results"], inputs=ASK)


def test_when_every_search_fails_that_is_an_error_and_not_an_empty_answer(driver, monkeypatch):
    def breaks(*rest, **options):
        raise OSError("disk on fire")

    monkeypatch.setattr(corpus_nodes, "search_vectors", breaks)
    monkeypatch.setattr(corpus_nodes, "bm25_search", breaks)
    with pytest.raises(SearchError, match="every search failed"):
        driver.execute(["results"], inputs=ASK)


def test_without_the_chunks_of_the_only_collection_there_is_no_answer(
    driver, open_driver, monkeypatch
):
    def breaks(*rest, **options):
        raise OSError("disk on fire")

    monkeypatch.setattr(chunk_reader, "fetch_chunks", breaks)
    with pytest.raises(SearchError, match=r"no answer: code chunks, .*wiki chunks: disk on fire"):
        driver.execute(EVERYTHING, inputs=ASK)
    raising = load_config().with_changes({"on_corpus_error": "raise"})
    with open_driver(raising) as strict, pytest.raises(OSError, match="disk on fire"):
        strict.execute(["results"], inputs=ASK)

"""A search that fails, and one that need not run: what stands in for it."""

import polars as pl
import pytest

from dataflow import load_config
from dataflow.driver.fail_open import not_searched, stand_in
from dataflow.driver.retrieval_driver import build_graph
from dataflow.execution.scheduler import NodeTimeout
from dataflow.retrieval import corpus as corpus_nodes
from operators.errors import SearchError
from operators.frames import NOTES, TEXT_LISTS, UNIFIED, empty

ASK = {"query": "why is the cache flushed twice?"}
OF_CORPUS = load_config("default").catalog.corpus.frames
EVERYTHING = ["results", "notes", "outcomes"]


@pytest.fixture(scope="module")
def failed():
    """What stands in for a node of the shipped graph."""
    config = load_config("default")
    nodes = build_graph(config).graph.nodes

    def of(name, error, seconds=0.0):
        return stand_in(nodes[name], error, seconds, config.catalog.frames)

    return of


def test_a_failed_search_gives_no_rows_and_says_what_happened(failed):
    found = failed("wiki.text_search", ValueError("no such index"), 0.25)
    assert found["text_lists"].equals(empty(TEXT_LISTS))
    outcome = found["text_outcome"].row(0, named=True)
    assert (outcome["corpus"], outcome["channel"]) == ("wiki", "text")
    assert (outcome["status"], outcome["error"], outcome["elapsed_ms"]) == (
        "failed",
        "no such index",
        250,
    )


def test_a_node_says_itself_what_stands_in_for_it(failed):
    for name in ("known_versions", "wiki.collection"):
        assert failed(name, ValueError("x")) is None
    for name in ("unmet_filters", "replica_lag", "files_changed_later", "incomplete_corpora"):
        assert failed(name, ValueError("x")).equals(empty(NOTES))
    with pytest.raises(ValueError, match="out of memory"):
        failed("passage_factor", ValueError("out of memory"))


def test_nothing_is_searched_for_a_corpus_whose_answer_is_given():
    found = pl.DataFrame({"chunk_id": [3, 1, 3], "query_id": 0})
    unified = found.join(empty(UNIFIED), on="chunk_id", how="left")
    instead = not_searched({"wiki.unified": unified, "top_k": 3}, ["code", "wiki"], OF_CORPUS)
    assert {name.partition(".")[0] for name in instead} == {"wiki"}
    assert instead["wiki.vector_hits"]["chunk_id"].to_list() == [3, 1]
    outcomes = [instead[f"wiki.{channel}_outcome"] for channel in ("vector", "text")]
    assert [outcome["status"].item() for outcome in outcomes] == ["overridden"] * 2


def test_a_list_that_is_given_stands_for_its_own_search_only():
    instead = not_searched({"wiki.text_hits": pl.DataFrame()}, ["wiki"], OF_CORPUS)
    assert list(instead) == ["wiki.text_outcome"]


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


def test_chunks_that_cannot_be_read_cost_one_corpus_only(driver, monkeypatch):
    works = corpus_nodes.fetch_chunks

    def breaks(store, corpus, *rest, **options):
        if corpus == "wiki":
            raise OSError("disk on fire")
        return works(store, corpus, *rest, **options)

    monkeypatch.setattr(corpus_nodes, "fetch_chunks", breaks)
    out = driver.execute(EVERYTHING, inputs=ASK)
    assert set(out["results"]["corpus"]) == {"code", "docs"}
    assert any("wiki" in note for note in out["notes"]["note"])

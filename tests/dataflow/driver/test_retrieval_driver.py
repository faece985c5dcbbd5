"""The driver on a small graph and on the real one: what it opens, accepts, refuses, survives."""

import logging
import os
import time
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest

from dataflow import build_driver, load_config
from dataflow.driver.retrieval_driver import RetrievalDriver, build_graph
from operators.errors import CrosscorpusError, UnknownName
from operators.frames import MERGED, empty
from operators.postgres.store import open_store
from operators.postgres.write.ledger import record_failure
from operators.postgres.write.removal import delete_documents

ASK = {"query": "why is the cache flushed twice?"}
COLLECTION = "driver-tests"
EVERYTHING = ["results", "context_window", "citations", "notes", "outcomes", "provenance"]

MISTAKES = [
    (["resluts"], ASK, {}, "unknown output 'resluts', did you mean 'results'?"),
    (["results"], {**ASK, "tigger": "x"}, {}, "unknown input 'tigger', did you mean 'trigger'?"),
    (["results"], {"queries": 1}, {}, "'queries' is computed by the graph: give it as an override"),
    (["results"], {"query": 5}, {}, "input 'query': expected str | list[str], got int"),
    (["results"], {**ASK, "top_k": "3"}, {}, "input 'top_k': expected int, got str"),
    (["results"], {**ASK, "top_k": -1}, {}, "top_k: expected greater than or equal to 0, got -1"),
    (["results"], {**ASK, "trigger": "pr_reviw"}, {}, "unknown trigger 'pr_reviw', did you mean"),
    (
        ["results"],
        {},
        {},
        "missing input 'query', which queries needs: give it from Python, as inp",
    ),
    (
        ["results"],
        {"repos": ["org/app"]},
        {"queries": pl.DataFrame({"query_id": [1], "text": ["a"]})},
        "repos: an input of one question, and the node queries is overridden: give each question",
    ),
    (
        ["results"],
        ASK,
        {"wiki.merged": empty(MERGED).drop("rank", "score")},
        "override 'wiki.merged' lacks columns: rank, score; operators/frames.py says what each is",
    ),
]


@pytest.mark.parametrize(
    ("outputs", "inputs", "overrides", "message"), MISTAKES, ids=[m[-1][:34] for m in MISTAKES]
)
def test_a_mistaken_call_is_one_line_with_the_nearest_name(
    build, outputs, inputs, overrides, message
):
    with pytest.raises(CrosscorpusError) as error:
        build().execute(outputs, inputs=inputs, overrides=overrides)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_any_intermediate_can_be_asked_for(build):
    out = build().execute(["wiki.merged", "code.unified", "outcomes"], inputs=ASK)
    assert list(out) == ["wiki.merged", "code.unified", "outcomes"]
    assert out["outcomes"].height == 4


def merged(*chunks):
    return pl.DataFrame({"chunk_id": chunks}).join(empty(MERGED), on="chunk_id", how="left")


def test_any_intermediate_can_be_overridden_and_cuts_its_search(build, recorder):
    row, store = merged(7), recorder()
    out = build(store=store).execute(
        ["results"], inputs=ASK, overrides={"wiki.merged": row, "code.merged": row}
    )
    assert out["results"]["chunk_id"].to_list() == [7, 7]
    assert out["results"]["corpus"].to_list() == ["code", "wiki"]
    assert store.asked == []


def test_a_corpus_parameter_can_be_overridden_for_one_run(build):
    rows = {f"{c}.merged": merged(1) for c in ("wiki", "code")}
    for inputs, instead in ({}, {"wiki.search_depth": 3}), ({"wiki.search_depth": 3}, {}):
        inputs, overrides = {**ASK, **inputs}, {**rows, **instead}
        out = build().execute(["results"], inputs=inputs, overrides=overrides)
        assert dict(out["results"].select("corpus", "cut").iter_rows()) == {"code": 50, "wiki": 3}


def test_a_search_past_its_deadline_leaves_an_outcome_in_time(build):
    driver = build({"wiki": 0.6}, deadline_s=0.1)
    began = time.perf_counter()
    out = driver.execute(["outcomes", "results"], inputs=ASK)["outcomes"]
    assert time.perf_counter() - began < 0.5
    row = out.filter(corpus="wiki", channel="vector").row(0, named=True)
    assert row["status"] == "timed_out"
    assert 90 <= row["elapsed_ms"] < 400


def test_a_hung_corpus_costs_its_own_results_only_however_many_ask_at_once(build):
    driver = build({"wiki": 3.0}, deadline_s=2.0)
    with ThreadPoolExecutor(64) as pool:
        runs = [pool.submit(driver.execute, ["outcomes"], inputs=ASK) for _ in range(64)]
        rows = pl.concat(run.result()["outcomes"] for run in runs)
    assert rows.filter(corpus="code")["status"].unique().to_list() == ["ok"]
    hung = rows.filter(corpus="wiki", channel="vector")
    assert hung["status"].unique().to_list() == ["timed_out"]


def test_a_batch_has_the_deadline_once_for_each_question(build):
    driver = build({"wiki": 0.3}, deadline_s=0.1)
    frame = pl.DataFrame({"query_id": range(6), "text": ["a"] * 6})
    out = driver.execute(["outcomes"], overrides={"queries": frame})["outcomes"]
    assert out["status"].unique().to_list() == ["ok"]


def test_a_corpus_may_have_its_own_deadline(build, content):
    corpora = {**content["corpora"], "wiki": {"deadline_s": 0.05, "variants": {"merged": "rrf"}}}
    driver = build({"wiki": 0.3, "code": 0.15}, corpora=corpora)
    out = driver.execute(["outcomes"], inputs=ASK)["outcomes"]
    assert out.filter(pl.col("status") == "timed_out")["corpus"].to_list() == ["wiki"]


def test_provenance_reads_the_timings_of_its_own_run_and_a_caller_may_have_them(build):
    timings = {}
    out = build().execute(["provenance"], inputs={**ASK, "timings": timings})
    assert {"queries", "code.vector_search", "results"} <= set(out["provenance"]["timings"])
    assert timings["provenance"] >= 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_driver_in_a_forked_process_says_that_it_is_of_another_one(build):
    driver, (read, write) = build(), os.pipe()
    driver.execute(["outcomes"], inputs=ASK)
    if (child := os.fork()) == 0:  # its threads are not here: without a word it would wait for them
        try:
            driver.execute(["outcomes"], inputs=ASK)
        except CrosscorpusError as error:
            os.write(write, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert (
        os.read(read, 200).decode() == "the driver is of another process: build one after the fork"
    )
    assert driver.execute(["outcomes"], inputs=ASK)["outcomes"].height


def test_hamilton_adapters_see_the_nodes_and_still_log_nothing(small, recorder, caplog):
    from hamilton import lifecycle

    class Seen(lifecycle.NodeExecutionHook):
        names = ()

        def run_before_node_execution(self, *, node_name, **rest):
            self.names = (*self.names, node_name)

        def run_after_node_execution(self, **rest):
            pass

    seen, config = Seen(), small(on_corpus_error="raise")
    graph = build_graph(config, adapters=[seen])
    bound = {"store": recorder(wiki=ValueError("broken")), "embedder": None}
    with RetrievalDriver(config, graph, bound) as driver:
        driver.execute(["code.unified"], inputs=ASK)
        assert {"queries", "code.vector_search", "code.unified"} <= set(seen.names)
        with pytest.raises(ValueError, match="broken"):
            driver.execute(["results"], inputs={"query": "the secret plan"})
    assert "secret plan" not in caplog.text


def test_hits_that_are_asked_for_are_searched_though_a_later_stage_is_given(driver):
    names = ["vector_hits", "text_hits"]
    usual = driver.execute([*names, "merged"], ASK)
    given = {"merged": usual["merged"].head(1)}
    out = driver.execute([*names, "results", "outcomes"], ASK, given)
    assert all(out[name].equals(usual[name]) for name in names)
    assert out["results"]["chunk_id"].to_list() == given["merged"]["chunk_id"].to_list()
    assert "overridden" not in set(out["outcomes"]["status"])
    unasked = driver.execute(["results", "outcomes"], ASK, given)
    assert unasked["results"].equals(out["results"])
    assert set(unasked["outcomes"]["status"]) == {"overridden"}


def test_threads_that_share_a_driver_get_their_own_answers(driver):
    texts = ["why is the cache flushed twice?", "install the package", "configure the server"]
    alone = {text: driver.execute(["results"], inputs={"query": text})["results"] for text in texts}
    with ThreadPoolExecutor(6) as pool:
        asked = texts * 4
        found = pool.map(lambda t: driver.execute(["results"], inputs={"query": t}), asked)
        assert all(out["results"].equals(alone[t]) for t, out in zip(asked, found, strict=True))


def test_another_model_than_the_collection_s_is_an_error_that_names_both(open_driver, words):
    with pytest.raises(CrosscorpusError) as error:
        open_driver(embedder=words("words-2"))
    assert "words-1" in str(error.value)
    assert "words-2" in str(error.value)
    assert "\n" not in str(error.value)


def test_neither_the_question_nor_the_server_reaches_a_log_or_a_representation(
    server_dsn, driver, caplog
):
    caplog.set_level(logging.DEBUG)
    driver.execute(EVERYTHING, inputs={"query": "the secret plan of the cache"})
    assert "secret plan" not in caplog.text
    assert server_dsn not in caplog.text
    assert server_dsn not in repr(driver)
    assert server_dsn not in repr(driver.graph.config)


def test_the_driver_closes_the_store_that_it_opened_and_no_other(
    open_driver, server_dsn, words, monkeypatch
):
    opened = []

    def recorded(*arguments, **options):
        opened.append(open_store(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr("operators.postgres.store.open_store", recorded)
    open_driver().close()
    assert [store.pool.closed for store in opened] == [True]
    with open_store(server_dsn, COLLECTION, max_size=2) as store:
        build_driver(load_config(), store=store, embedder=words()).close()
        assert not store.pool.closed


def test_a_document_that_could_not_be_read_is_explained_by_the_reason(server_dsn, driver):
    with open_store(server_dsn, COLLECTION, max_size=2) as store:
        record_failure(store, "docs", "org/app", "scans/plan.pdf", "encrypted")
        with pytest.raises(UnknownName, match=r"^'plan\.pdf' is not here: encrypted\b"):
            driver.execute(["explain_targets"], {**ASK, "explain_chunks": ["plan.pdf"]})
        delete_documents(store, "docs", "org/app", ["scans/plan.pdf"])

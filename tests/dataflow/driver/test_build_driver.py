"""The driver over the real graph on a real server: what it opens, refuses, and survives."""

import json
import logging
import re
import zlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from dataflow import build_driver, load_config
from dataflow.ingestion import ingest_documents
from operators.errors import CrosscorpusError, SearchError, UnknownName
from operators.postgres.search import chunk_reader, vector_search
from operators.postgres.store import drop_collection, open_store

COLLECTION = "runtime-driver"
DOCUMENTS = [
    ("code", "cache.py", "def flush(cache): the cache is flushed twice after a merge"),
    ("wiki", "Caching", "why the cache is flushed: the cache keeps two generations"),
    ("docs", "guide.md", "install the package and configure the server"),
]
NOW = datetime(2025, 6, 1, tzinfo=UTC)
QUESTION = {"query": "why is the cache flushed twice?"}
EVERYTHING = ["results", "context_window", "citations", "notes", "outcomes", "provenance"]


class Words:
    """A small embedding model: bags of hashed words, the same everywhere."""

    model, dimensions, max_tokens = "words", 32, 254

    def __init__(self, space="words-1"):
        self.space = space

    def count_tokens(self, texts):
        return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]

    def token_offsets(self, text):
        return None

    def embed_documents(self, texts):
        return np.stack([self._vector(text) for text in texts])

    embed_queries = embed_documents

    def _vector(self, text):
        vector = np.full(self.dimensions, 0.01, dtype=np.float32)
        for word in text.lower().split():
            vector[zlib.crc32(word.encode()) % self.dimensions] += 1
        return (vector / np.linalg.norm(vector)).astype(np.float32)


@pytest.fixture(scope="module")
def dsn(server_dsn, tmp_path_factory):
    file = tmp_path_factory.mktemp("documents") / "documents.jsonl"
    lines = [
        {"doc_id": name, "corpus": corpus, "title": name, "text": text, "path": name}
        for corpus, name, text in DOCUMENTS
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with open_store(server_dsn, COLLECTION, create=True, max_size=2) as store:
        ingest_documents(store, Words(), file)
        yield server_dsn
        drop_collection(store, COLLECTION)


@pytest.fixture(scope="module")
def driver(dsn):
    with build_driver(load_config(), COLLECTION, dsn=dsn, embedder=Words()) as built:
        yield built


@pytest.fixture(scope="module")
def strict(dsn):
    config = load_config().with_changes({"on_corpus_error": "raise"})
    with build_driver(config, COLLECTION, dsn=dsn, embedder=Words()) as built:
        yield built


def test_a_question_is_answered_from_several_corpora(driver):
    out = driver.execute(EVERYTHING, inputs={**QUESTION, "trigger": "pr_review"})
    assert {"code", "wiki"} <= set(out["results"]["corpus"])
    assert "flushed twice" in out["context_window"]["text"].item()
    assert out["provenance"]["timings"]["code.vector_search"] > 0
    absent = out["outcomes"].filter(status="absent")["corpus"].unique().sort().to_list()
    assert absent == ["history", "issue", "memory", "review"]


def test_a_batch_of_bare_texts_gives_what_single_questions_give(driver):
    texts = ["why is the cache flushed twice?", "install the package"]
    frame = pl.DataFrame({"query_id": [7, 9], "text": texts})
    batch = driver.execute(["results"], overrides={"queries": frame})["results"]
    for query_id, text in zip([7, 9], texts, strict=True):
        single = driver.execute(["results"], inputs={"query": text})["results"]
        ours = batch.filter(query_id=query_id).drop("query_id")
        assert ours.equals(single.drop("query_id"))


def test_top_k_is_changed_for_one_run_and_provenance_says_so(driver):
    out = driver.execute(["results", "provenance"], inputs={**QUESTION, "top_k": 1})
    assert out["results"].height == 1
    assert out["provenance"]["parameters"]["top_k"] == 1


def test_threads_that_share_a_driver_get_their_own_answers(driver):
    texts = ["why is the cache flushed twice?", "install the package", "configure the server"]
    alone = {text: driver.execute(["results"], inputs={"query": text})["results"] for text in texts}
    with ThreadPoolExecutor(6) as pool:
        asked = texts * 8
        found = pool.map(lambda t: driver.execute(["results"], inputs={"query": t}), asked)
        assert all(out["results"].equals(alone[t]) for t, out in zip(asked, found, strict=True))


def test_another_model_than_the_collection_s_is_an_error_that_names_both(dsn):
    with pytest.raises(CrosscorpusError) as error:
        build_driver(load_config(), COLLECTION, dsn=dsn, embedder=Words("words-2"))
    assert "words-1" in str(error.value)
    assert "words-2" in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_collection_is_an_error_with_the_nearest_name(dsn):
    with pytest.raises(CrosscorpusError, match="did you mean 'runtime-driver'"):
        build_driver(load_config(), "runtime-drivr", dsn=dsn, embedder=Words())


def test_one_broken_corpus_leaves_the_others_and_says_so(driver, strict, monkeypatch):
    from operators.postgres.search import vector_search

    works = vector_search.vector_search

    def breaks(store, corpus, *rest, **options):
        if corpus == "wiki":
            raise OSError("disk on fire")
        return works(store, corpus, *rest, **options)

    monkeypatch.setattr(vector_search, "vector_search", breaks)
    out = driver.execute(EVERYTHING, inputs=QUESTION)
    failed = out["outcomes"].filter(status="failed").select("corpus", "channel", "error")
    assert failed.rows() == [("wiki", "vector", "disk on fire")]
    assert "code" in set(out["results"]["corpus"])
    assert any("wiki" in note for note in out["notes"]["note"])
    with pytest.raises(OSError, match="disk on fire"):
        strict.execute(["results"], inputs=QUESTION)


def test_when_every_search_fails_that_is_an_error_and_not_an_empty_answer(driver, monkeypatch):
    from operators.postgres.search import text_search

    def breaks(*rest, **options):
        raise OSError("disk on fire")

    monkeypatch.setattr(vector_search, "vector_search", breaks)
    monkeypatch.setattr(text_search, "bm25_search", breaks)
    with pytest.raises(SearchError, match="every search failed"):
        driver.execute(["results"], inputs=QUESTION)


def test_chunks_that_cannot_be_read_cost_one_corpus_only(driver, monkeypatch):

    works = chunk_reader.fetch_chunks

    def breaks(store, corpus, *rest, **options):
        if corpus == "wiki":
            raise OSError("disk on fire")
        return works(store, corpus, *rest, **options)

    monkeypatch.setattr(chunk_reader, "fetch_chunks", breaks)
    out = driver.execute(EVERYTHING, inputs=QUESTION)
    assert set(out["results"]["corpus"]) == {"code", "docs"}
    assert any("wiki" in note for note in out["notes"]["note"])


def test_neither_the_question_nor_the_server_reaches_a_log_or_a_representation(dsn, driver, caplog):
    caplog.set_level(logging.DEBUG)
    driver.execute(EVERYTHING, inputs={"query": "the secret plan of the cache"})
    assert "secret plan" not in caplog.text
    assert dsn not in caplog.text
    assert dsn not in repr(driver)
    assert dsn not in repr(driver.graph.config)


def test_the_driver_closes_the_store_that_it_opened_and_no_other(dsn):
    built = build_driver(load_config(), COLLECTION, dsn=dsn, embedder=Words())
    built.close()
    assert built._owned.pool.closed
    with open_store(dsn, COLLECTION, max_size=2) as store:
        build_driver(load_config(), store=store, embedder=Words()).close()
        assert not store.pool.closed


@pytest.mark.parametrize(
    ("change", "searched"),
    [
        ("half_life", 0),
        ("no_dedup", 0),
        ("cosine_dedup", 0),
        ("comb_sum", 0),
        ("weighted_rrf", 0),
        ("vector_only", 0),
        ({"corpus_defaults": {"parameters": {"vector_weight": 0.1}}}, 0),
        ({"corpora": {"wiki": {"parameters": {"search_depth": 1}}}}, 2),
        ({"corpora": {"wiki": {"filters": {"language": "python"}}}}, 2),
        ("plain_text_search", 3),
    ],
    ids=str,
)
def test_what_if_searches_only_what_is_searched_otherwise(dsn, monkeypatch, change, searched):
    from operators.postgres.search import text_search, vector_search

    asked = []

    def counted(what, works):
        def call(store, corpus, *rest, **options):
            asked.append((what, corpus))
            return works(store, corpus, *rest, **options)

        return call

    monkeypatch.setattr(chunk_reader, "fetch_chunks", counted("chunks", chunk_reader.fetch_chunks))
    monkeypatch.setattr(
        vector_search, "vector_search", counted("vector", vector_search.vector_search)
    )
    for name in ("bm25_search", "plain_search"):
        monkeypatch.setattr(text_search, name, counted("text", getattr(text_search, name)))
    config = load_config(change) if isinstance(change, str) else load_config().with_changes(change)
    wanted = ["results", "context_window", "citations", "notes", "fused"]
    inputs = {**QUESTION, "now": NOW}
    with build_driver("default", COLLECTION, dsn=dsn, embedder=Words()) as driver:
        trace = driver.trace(wanted, inputs)
        assert len(asked) == 9
        asked.clear()
        found = driver.what_if(trace, change)
    assert len([1 for what, _ in asked if what != "chunks"]) == searched
    assert len(asked) <= 2 * searched
    with build_driver(config, COLLECTION, dsn=dsn, embedder=Words()) as fresh:
        assert all(
            frame.equals(found[name]) for name, frame in fresh.execute(wanted, inputs).items()
        )


def test_what_if_keeps_the_model_and_says_so(driver):
    trace = driver.trace(["results"], QUESTION)
    with pytest.raises(CrosscorpusError, match="for 'static' build another driver"):
        driver.what_if(trace, {"embedding": "static"})


def test_a_named_chunk_is_explained_whether_it_was_found_or_not(driver):
    found = driver.execute(["results", "code.merged"], QUESTION)
    labels = found["results"]["source_label"].to_list()
    chunk = found["code.merged"]["chunk_id"][0]
    wanted = ["explain", "dispositions"]
    out = driver.execute(wanted, {**QUESTION, "top_k": 0, "explain_chunks": [labels[0], chunk]})
    assert set(out["dispositions"]["disposition"]) == {"below_top_k"}
    narrow = {**QUESTION, "only_corpora": ["wiki"], "explain_chunks": ["guide.md"]}
    told = driver.execute(wanted, narrow)["dispositions"].filter(corpus="docs")
    reason = "the question asks wiki only, and this is in docs"
    assert told.select("disposition", "reason").rows() == [("hidden", reason)]
    with pytest.raises(CrosscorpusError, match=r"no chunk or document 'guide\.mdx' to explain"):
        driver.execute(wanted, {**QUESTION, "explain_chunks": ["guide.mdx"]})


def test_what_is_in_a_repository_that_the_configuration_leaves_out_cannot_be_explained(dsn):
    config = load_config().with_changes({"corpora": {"docs": {"filters": {"repos": ["org/app"]}}}})
    with build_driver(config, COLLECTION, dsn=dsn, embedder=Words()) as limited:
        told = []
        for name in ("guide.md", "no such"):
            asked = {**QUESTION, "explain_chunks": [name, "cache.py"]}
            with pytest.raises(UnknownName) as error:
                limited.execute(["explain_targets"], asked)
            told.append(str(error.value).replace(name, "it"))
        assert told[0] == told[1]
        explain_targets = limited.execute(
            ["explain_targets"], {**QUESTION, "explain_chunks": ["cache.py"]}
        )["explain_targets"]
        assert explain_targets["corpus"].to_list() == ["code"]


def test_what_the_candidates_cut_off_says_how_far_away_it_is(driver):
    trace = driver.trace(["dispositions"], {**QUESTION, "explain_chunks": ["guide.md"]})
    (seen,) = trace["dispositions"].filter(corpus="docs")["disposition"].to_list()
    assert seen == "context"
    none = {"corpora": {"docs": {"parameters": {"search_depth": 0}}}}
    told = driver.what_if(trace, none)["dispositions"].filter(corpus="docs").row(0, named=True)
    assert told["disposition"] == "below_search_depth"

"""Corpora of several collections in one question, each with its own model."""

import json

import polars as pl
import pytest
from ingesting import ingest_documents

from dataflow import build_driver, load_config
from dataflow.evaluation.graph import evaluate
from dataflow.evaluation.learning import parameters
from dataflow.execution.built_graph import GraphError
from operators.errors import CrosscorpusError, UnknownName
from operators.evaluation.evaluation_frames import JUDGED_QUERIES, QRELS
from operators.postgres.search import chunk_reader
from operators.postgres.store import drop_collection, open_store

ASK = {"query": "why is the cache flushed twice after a merge?"}
MODEL = """
import numpy as np

class Letters:
    model, dimensions, max_tokens, space = "letters", 26, 254, "letters-1"

    def count_tokens(self, texts):
        return [len(text.split()) for text in texts]

    def embed_documents(self, texts):
        counts = [[0.01 + text.lower().count(chr(97 + n)) for n in range(26)] for text in texts]
        vectors = np.array(counts, np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    embed_queries = embed_documents

def load():
    return Letters()
"""


@pytest.fixture(scope="module")
def other(open_driver, words, server_dsn, tmp_path_factory):
    """A collection of code with a model of letters, beside the driver tests' own of words."""
    folder = tmp_path_factory.mktemp("other")
    (folder / "letters_model.py").write_text(MODEL)
    text = "def merge(cache): flush the cache twice, once for each generation"
    lines = [
        {"doc_id": "cache.py", "corpus": "code", "text": text, "path": "cache.py", "repo": "x"},
        {"doc_id": "page", "corpus": "wiki", "text": "a page about zebras", "path": "page"},
    ]
    file = folder / "documents.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        import letters_model

        with open_driver(), open_store(server_dsn, "other-tests", create=True) as store:
            ingest_documents(store, letters_model.load(), file)
            yield "python:letters_model:load"
            drop_collection(store.dsn, "other-tests")


def together(model, **corpora):
    entry = {"collection": "other-tests", "embedding": model, "label": "{path}"}
    changes = {"corpora": {"code": entry, "wiki": {}, "docs": {}, **corpora}}
    return load_config("default").with_changes(changes)


def test_a_corpus_of_another_collection_answers_beside_the_driver_s_own(open_driver, other):
    with open_driver(together(other)) as driver:
        out = driver.execute(["results", "outcomes", "provenance", "vector_hits"], ASK)
    found = out["results"]["corpus", "document_id"].rows()
    assert ("code", "cache.py") in found
    assert "merge(cache)" in out["results"].filter(corpus="code")["text"].item()
    assert ("wiki", "Caching") in found
    assert out["vector_hits"].filter(corpus="code").height == 1
    assert set(out["outcomes"].filter(corpus="code")["status"]) == {"ok"}
    homes = out["provenance"]["collections"]
    assert (homes["code"], homes["wiki"]) == ("other-tests", "driver-tests")


def test_no_similarity_of_one_space_lessens_those_of_another(open_driver, other):
    """The nearest passage of each space counts in full, however near those of the other are."""
    with open_driver(together(other)) as driver:
        normalized = driver.execute(["normalized"], ASK)["normalized"]
    best = dict(normalized.group_by("corpus").agg(pl.max("vector_value")).iter_rows())
    assert best.pop("code") == pytest.approx(1.0)
    assert max(best.values()) == pytest.approx(1.0)


def test_a_further_collection_doubles_every_corpus_under_its_name(open_driver, words, other):
    copies = load_config({"extends": "default", "collections": ["other-tests"]}).corpora
    assert copies["other_tests_code"].corpus == "code"
    wiki = {"collection": "other-tests", "corpus": "wiki", "embedding": other}
    with open_driver(together(other, zoo=wiki)) as driver:
        zoo = driver.execute(["results"], {"query": "zebras", "only_corpora": ["zoo"]})["results"]
        assert zoo["corpus", "document_id"].rows() == [("zoo", "page")]
        why = driver.execute(["explain_targets"], {**ASK, "explain_chunks": ["page"]})
        assert why["explain_targets"]["corpus"].to_list() == ["zoo"]
        asked = {"query": "zebras", "language": "cobol"}
        notes = driver.execute(["notes"], asked)["notes"]
        assert any("cobol" in note for note in notes["note"])


@pytest.mark.parametrize(
    ("corpora", "error", "says"),
    [
        ({"code": {"embedding": "static"}}, CrosscorpusError, "corpora.code.collection is missing"),
        ({"code": {"collection": "othr-tests"}}, UnknownName, "no collection 'othr-tests'"),
        ({"code": {"collection": "driver-tests", "corpus": "wiki"}}, GraphError, "leave one out"),
    ],
)
def test_a_corpus_that_is_nowhere_or_twice_is_one_line(open_driver, other, corpora, error, says):
    with pytest.raises(error, match=says):
        open_driver(load_config("default").with_changes({"corpora": corpora}))


def test_documents_of_another_collection_are_judged_like_its_own(server_dsn, words, other):
    queries = pl.DataFrame(
        [{"query_id": "q", "number": 0, "texts": [ASK["query"]], "text": ASK["query"]}],
        schema=JUDGED_QUERIES,
    )
    qrels = pl.DataFrame([("q", "x:cache.py", 1)], schema=QRELS, orient="row")
    with open_store(server_dsn, "driver-tests") as store:
        found = evaluate(store, {"both": together(other)}, queries, qrels, embedder=words())
    assert not [note for note in found.notes if "not in the collection" in note]
    assert ("x:cache.py", "code") in found.runs["doc_id", "corpus"].rows()


def test_weights_are_learned_of_corpora_of_all_collections_that_have_documents(open_driver, other):
    gone = {"collection": "other-tests", "corpus": "docs", "embedding": other}
    asked = pl.DataFrame({"trigger": ["question"]})
    with open_driver(together(other, gone=gone)) as driver:
        learned = parameters(driver, asked)
    assert {"code.vector_weight", "code.weights.question"} <= learned.keys()
    assert not [name for name in learned if name.startswith("gone.")]


def test_what_another_collection_holds_is_asked_without_a_second_model(server_dsn, words, other):
    """Of two collections with one model, the question is embedded once."""
    config = load_config("default").with_changes(
        {"corpora": {"code": {"collection": "driver-tests"}}}
    )
    with build_driver(config, "driver-tests", dsn=server_dsn, embedder=words()) as driver:
        out = driver.execute(["other_embeddings", "results"], ASK)
    assert out["other_embeddings"] == {}
    assert "code" in set(out["results"]["corpus"])


def test_chunks_that_cannot_be_read_cost_their_collection_only(open_driver, other, monkeypatch):
    works = chunk_reader.fetch_chunks

    def breaks(store, *rest, **options):
        if store.collection == "other-tests":
            raise OSError("disk on fire")
        return works(store, *rest, **options)

    monkeypatch.setattr(chunk_reader, "fetch_chunks", breaks)
    with open_driver(together(other)) as driver:
        out = driver.execute(["results", "outcomes", "notes"], ASK)
    assert set(out["results"]["corpus"]) == {"wiki", "docs"}
    failed = out["outcomes"].filter(status="failed")["corpus", "channel", "error"].rows()
    assert failed == [("code", "chunks", "disk on fire")]
    (note,) = (note for note in out["notes"]["note"] if note.startswith("code:"))
    assert "the reading of its chunks failed (disk on fire)" in note
    raising = together(other).with_changes({"on_corpus_error": "raise"})
    with open_driver(raising) as strict, pytest.raises(OSError, match="disk on fire"):
        strict.execute(["results"], ASK)


def test_a_corpus_that_the_configuration_does_not_search_is_named_with_what_to_add(
    words, server_dsn, tmp_path
):
    lines = [
        {"doc_id": "a", "corpus": "docs", "text": "the cache is flushed twice"},
        {"doc_id": "b", "corpus": "forum", "text": "who flushed the cache?"},
    ]
    file = tmp_path / "documents.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    add = {"corpora": {"forum": {"label": "{title}", "link": "{uri}"}}}
    add_so = 'forum: {label: "{title}", link: "{uri}"}'
    note = "not searched: forum (1 chunks); in a configuration that extends yours, corpora has "
    note += add_so
    with open_store(server_dsn, "silent", create=True) as store:
        ingest_documents(store, words(), file)
        how = {"store": store, "embedder": words()}
        with build_driver(load_config("default"), **how) as driver:
            assert note in driver.ask(ASK["query"]).notes
            assert note not in driver.ask(ASK["query"], corpora=["docs"]).notes
        with build_driver(load_config("default").with_changes(add), **how) as driver:
            answer = driver.ask(ASK["query"])
            assert note not in answer.notes
            assert {"docs", "forum"} == {one.corpus for one in answer}


def test_who_sees_a_part_of_a_corpus_learns_of_no_corpus_that_is_not_searched(
    words, server_dsn, tmp_path
):
    lines = [
        {"doc_id": "a", "corpus": "docs", "text": "the cache is flushed", "repo": "org/open"},
        {"doc_id": "b", "corpus": "payroll", "text": "a salary", "repo": "org/closed"},
    ]
    file = tmp_path / "documents.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    part = {"corpora": {"docs": {"filters": {"repos": ["org/open"]}}}}
    with open_store(server_dsn, "partly", create=True) as store:
        ingest_documents(store, words(), file)
        config = load_config("default").with_changes(part)
        with build_driver(config, store=store, embedder=words()) as driver:
            answer = driver.ask(ASK["query"])
            assert [one.document_id for one in answer] == ["a"]
            assert not [note for note in answer.notes if "payroll" in note]

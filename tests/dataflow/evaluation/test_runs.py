"""What every configuration answers to judged queries."""

import json

import polars as pl
from evaluating import DEFAULT, asked, documents
from ingesting import ingest_documents

from dataflow import build_driver
from dataflow.evaluation.answers import questions
from dataflow.evaluation.graph import evaluate
from operators.evaluation.evaluation_frames import JUDGED_QUERIES, QRELS
from operators.evaluation.judgements import read_queries
from operators.postgres.store import drop_collection, open_store


def test_a_run_begins_with_what_a_user_gets(judged, found):
    queries = read_queries(judged.queries)
    with build_driver(DEFAULT, store=judged.store, embedder=judged.embedder) as driver:
        batch = questions(queries)
        results = driver.execute(["results"], overrides={"queries": batch})["results"]
    for number, query in queries.select("number", "query_id").iter_rows():
        first = results.filter(pl.col("query_id") == number).sort("rank")["document_id"]
        listed = documents(found, query)
        survivors = [document for document in listed if document in set(first)]
        assert survivors == first.unique(maintain_order=True).to_list()


def test_the_size_of_a_batch_changes_no_run(judged, found):
    assert asked(judged, batch_size=2).runs.equals(found.runs.filter(pl.col("config") == "default"))


def test_nothing_of_as_of_or_later_is_ranked(found):
    reviews = {document for document in documents(found, "old-lock") if document.startswith("pr/")}
    assert reviews == {f"pr/{n}{c}" for n in (0, 1, 2) for c in ("", "-copy")}


def test_a_run_has_as_many_documents_of_each_corpus_as_were_asked_for(judged):
    few = DEFAULT.with_changes({"corpus_defaults": {"parameters": {"search_depth": 2}}})
    counted = asked(judged, {"few": few}, depth=7).runs.group_by("query_id", "corpus").len()
    least = dict(counted.group_by("corpus").agg(pl.col("len").min()).iter_rows())
    assert least["code"] >= 7
    assert least["wiki"] == 6  # all that there are
    assert least["review"] == 6  # all of before as_of
    shallow = asked(judged, {"few": few}, depth=0).runs.group_by("query_id", "corpus").len()
    assert shallow["len"].max() <= 5


def test_a_copy_follows_its_survivor(found):
    listed = documents(found, "all-cache")
    assert listed.index("pr/0-copy") == listed.index("pr/0") + 1 or (
        listed.index("pr/0") == listed.index("pr/0-copy") + 1
    )


def judgements(*rows):
    return pl.DataFrame(rows, schema=QRELS, orient="row")


def test_a_judged_passage_counts_where_a_chunk_overlaps_it(judged):
    qrels = judgements(("all-lock", "wiki page/lock:1-1", 1))
    queries = read_queries(judged.queries)
    run = asked(judged, queries=queries, qrels=qrels, unit="passage", depth=200)
    listed = documents(run, "all-lock")
    assert listed.count("wiki page/lock:1-1") == 1
    assert len(set(listed)) == len(listed)
    pages = [name for name in listed if name.startswith("wiki page/lock")]
    with judged.store.transaction() as conn:
        held = conn.execute("SELECT count(*) FROM chunks WHERE document_id = 'wiki page/lock'")
        ((chunks,),) = held.fetchall()
    assert len(pages) == chunks > 1


def test_the_parts_of_a_file_count_once_and_the_grade_of_the_best_holds(judged, tmp_path):
    parts = [
        {"doc_id": f"guide#{at}", "repo": "org/app", "path": "guide.md", "corpus": "docs"}
        | {"text": f"The {word} is explained here."}
        for at, word in enumerate(("cache", "lock", "queue"))
    ]
    file = tmp_path / "parts.jsonl"
    file.write_text("".join(json.dumps(part) + "\n" for part in parts), encoding="utf-8")
    name = "evaluation-files"
    try:
        with open_store(judged.store.dsn, name, create=True) as store:
            ingest_documents(store, judged.embedder, file)
            question = pl.DataFrame(
                [{"query_id": "q", "number": 0, "texts": ["lock"], "text": "lock"}],
                schema=JUDGED_QUERIES,
            )
            run = evaluate(
                store,
                {"default": DEFAULT},
                question,
                judgements(("q", "guide#0", 1), ("q", "org/app:guide#2", 2)),
                embedder=judged.embedder,
                unit="file",
                measure_names=("Acc@1",),
            )
    finally:
        drop_collection(judged.store.dsn, name)
    assert documents(run, "q") == ["org/app:guide.md"]
    assert run.qrels.rows() == [("q", "org/app:guide.md", 2)]
    assert run.summary.filter(slice="all").select("measure", "mean").rows() == [("Acc@1", 1.0)]
    assert [note for note in run.notes if "no trigger" not in note] == []

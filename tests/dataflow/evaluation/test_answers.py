import polars as pl
import pytest

from dataflow import load_config
from dataflow.driver.query_frame import complete_queries
from dataflow.evaluation.answers import as_run, check_corpora, questions
from operators.errors import UnknownName
from operators.evaluation.evaluation_frames import JUDGED_QUERIES, RUN
from operators.evaluation.ranked_documents import DOCUMENTS
from operators.frames import check

QUERIES = pl.DataFrame(
    [
        {"query_id": "a", "number": 0, "texts": ["one"], "corpora": ["wiki", "code"]},
        {"query_id": "b", "number": 1, "texts": ["two", "zwei"], "trigger": "question"},
        {"query_id": "c", "number": 2, "texts": ["three"], "corpora": ["memory"], "repos": ["x"]},
    ],
    schema=JUDGED_QUERIES,
)


def test_the_graph_takes_them_as_its_queries():
    config = load_config("default")
    asked = questions(QUERIES)
    complete = complete_queries(asked, triggers=config.triggers, corpora=config.corpora)
    assert complete["texts"].to_list() == [["one"], ["two", "zwei"], ["three"]]
    assert [len(shares) for shares in complete["trigger"]] == [0, 1, 0]
    assert complete["repos"].to_list() == [None, None, ["x"]]
    assert complete.select("query_id", "corpora").rows() == [(0, None), (1, None), (2, None)]


def test_a_judged_corpus_must_be_in_one_of_the_configurations():
    small = load_config("default").with_changes({"corpora": {"memory": None}})
    check_corpora(QUERIES, {"small": small, "default": load_config("default")})
    with pytest.raises(UnknownName, match="unknown judged corpus 'memory'"):
        check_corpora(QUERIES, {"small": small})


def test_a_run_names_the_queries_as_the_judgements_do():
    rows = [(2, "d1", "code", 0), (0, "d2", "wiki", 1), (0, "d1", "code", 0)]
    run = check(
        as_run(pl.DataFrame(rows, schema=DOCUMENTS, orient="row"), QUERIES, "mine"), RUN, "run"
    )
    assert run.select("config", "query_id", "doc_id", "rank", "score").rows() == [
        ("mine", "a", "d1", 0, 2.0),
        ("mine", "a", "d2", 1, 1.0),
        ("mine", "c", "d1", 0, 1.0),
    ]

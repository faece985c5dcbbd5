import polars as pl
import pytest

from operators.evaluation.evaluation_frames import (
    CHANGED,
    COMPARISON,
    CORPUS_SCORES,
    JUDGED_QUERIES,
    QRELS,
    RUN,
    SCORES,
    SUMMARY,
    Evaluation,
)
from operators.evaluation.tables import (
    comparison_rows,
    per_query,
    slice_meaning,
    slice_rows,
)


@pytest.fixture
def evaluation():
    queries = [
        {"query_id": "z", "number": 0, "text": "first", "kind": "issue"},
        {"query_id": "a", "number": 1, "text": "second", "trigger": "question"},
    ]
    scores = [
        (config, query, measure, value)
        for config in ("new", "base")
        for measure, value in (("AP", 0.25), ("nDCG@10", 0.5))
        for query in ("a", "z")
    ]
    mean = {"measure": "nDCG@10", "slice": "all", "queries": 2, "mean": 0.5, "low": 0.4, "high": 1}
    difference = {
        "config": "new",
        "baseline": "base",
        "measure": "nDCG@10",
        "difference": -0.0312,
        "low": -0.05,
        "high": -0.01,
        "p": 0.00001,
        "p_corrected": 0.02,
        "wins": 1,
        "ties": 2,
        "losses": 3,
    }
    return Evaluation(
        configs=("base", "new"),
        queries=pl.DataFrame(queries, schema=JUDGED_QUERIES),
        qrels=pl.DataFrame([("a", "d", 1)], schema=QRELS, orient="row"),
        runs=pl.DataFrame(schema=RUN),
        scores=pl.DataFrame(scores, schema=SCORES, orient="row"),
        corpus_scores=pl.DataFrame(schema=CORPUS_SCORES),
        summary=pl.DataFrame(
            [{**mean, "config": "base"}, {**mean, "config": "new"}], schema=SUMMARY
        ),
        comparison=pl.DataFrame([difference], schema=COMPARISON),
        changed=pl.DataFrame(schema=CHANGED),
        notes=("1 query | left *out*",),
    )


def test_each_query_and_configuration_is_a_row_in_the_order_of_the_files(evaluation):
    table = per_query(evaluation)
    assert table.columns == ["config", "query_id", "kind", "trigger", "text", "nDCG@10", "AP"]
    assert table.select("config", "query_id", "nDCG@10", "AP").rows() == [
        ("base", "z", 0.5, 0.25),
        ("base", "a", 0.5, 0.25),
        ("new", "z", 0.5, 0.25),
        ("new", "a", 0.5, 0.25),
    ]


def test_rows_have_intervals_and_a_star_where_a_difference_is_no_luck(evaluation):
    assert slice_rows(evaluation, "all")[0] == ["base", "0.500 [0.400, 1.000]"]
    (row,) = comparison_rows(evaluation)
    assert row[:4] == ["new", "nDCG@10", "-0.031 *", "[-0.050, -0.010]"]
    assert row[4:] == ["< 0.0001", "0.0200", "1 / 2 / 3"]


def test_a_slice_that_ranks_other_documents_says_which():
    assert slice_meaning("all") == slice_meaning("kind=issue") == ""
    assert slice_meaning("corpus=docs").startswith("only that corpus's documents, ranked without")

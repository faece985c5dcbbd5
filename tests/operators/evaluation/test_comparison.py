import polars as pl
import pytest

from operators.evaluation.comparison import changed, comparison, summary
from operators.evaluation.evaluation_frames import (
    CHANGED,
    COMPARISON,
    CORPUS_SCORES,
    JUDGED_QUERIES,
    SCORES,
    SUMMARY,
)
from operators.evaluation.trec import numbered
from operators.frames import check


def scores_of(**configs):
    """Scores by configuration: measure -> values of the queries q0, q1, ..."""
    rows = [
        (config, f"q{at}", measure, value)
        for config, measures in configs.items()
        for measure, values in measures.items()
        for at, value in enumerate(values)
    ]
    return pl.DataFrame(rows, schema=SCORES, orient="row")


def queries_of(*about):
    rows = [
        {"query_id": f"q{at}", "number": at, "text": f"text {at}", **one}
        for at, one in enumerate(about)
    ]
    return pl.DataFrame(rows, schema=JUDGED_QUERIES)


ABOUT = (
    {"kind": "issue", "trigger": "question", "corpora": ["code", "docs"]},
    {"kind": "issue", "trigger": "pr_review", "corpora": ["code"]},
    {"kind": None, "trigger": "question", "corpora": None},
)


def test_every_slice_has_the_mean_of_its_queries():
    scores = scores_of(a={"AP": [1.0, 0.5, 0.0], "nDCG@10": [0.2, 0.4, 0.6]})
    corpus = scores.filter(pl.col("query_id") == "q0").with_columns(corpus=pl.lit("docs"))
    found = check(
        summary(scores, corpus.select(list(CORPUS_SCORES)), queries_of(*ABOUT)), SUMMARY, "summary"
    )
    means = {
        (row["slice"], row["measure"]): (row["queries"], pytest.approx(row["mean"]))
        for row in found.iter_rows(named=True)
    }
    assert means == {
        ("all", "nDCG@10"): (3, 0.4),
        ("all", "AP"): (3, 0.5),
        ("several corpora", "nDCG@10"): (1, 0.2),
        ("several corpora", "AP"): (1, 1.0),
        ("corpus=docs", "nDCG@10"): (1, 0.2),
        ("corpus=docs", "AP"): (1, 1.0),
        ("kind=issue", "nDCG@10"): (2, 0.3),
        ("kind=issue", "AP"): (2, 0.75),
        ("trigger=pr_review", "nDCG@10"): (1, 0.4),
        ("trigger=pr_review", "AP"): (1, 0.5),
        ("trigger=question", "nDCG@10"): (2, 0.4),
        ("trigger=question", "AP"): (2, 0.5),
    }
    assert (found["low"] <= found["mean"] + 1e-12).all()
    assert (found["mean"] <= found["high"] + 1e-12).all()


def test_the_order_of_queries_changes_no_number():
    scores = scores_of(a={"AP": [0.9, 0.2, 0.4, 0.7]}, b={"AP": [0.1, 0.3, 0.4, 0.8]})
    none = pl.DataFrame(schema=CORPUS_SCORES)
    queries = queries_of(*({"kind": "issue"} for _ in range(4)))
    assert summary(scores, none, queries).equals(summary(scores.reverse(), none, queries).reverse())
    turned = scores.filter(pl.col("config") == "a").reverse()
    turned = pl.concat([turned, scores.filter(pl.col("config") == "b")])
    assert comparison(scores, "a").equals(comparison(turned, "a"))


def test_each_configuration_is_compared_with_the_first():
    scores = scores_of(
        a={"AP": [0.5, 0.5, 0.5, 0.5], "RR@10": [1.0, 0.0, 1.0, 0.0]},
        b={"AP": [0.6, 0.5, 0.7, 0.9], "RR@10": [1.0, 0.0, 1.0, 0.0]},
        c={"AP": [0.4, 0.4, 0.6, 0.5 + 1e-12], "RR@10": [0.0, 0.0, 0.0, 0.0]},
    )
    found = check(comparison(scores, "a"), COMPARISON, "comparison")
    assert found.select("config", "measure", "wins", "ties", "losses").rows() == [
        ("b", "RR@10", 0, 4, 0),
        ("b", "AP", 3, 1, 0),
        ("c", "RR@10", 0, 2, 2),
        ("c", "AP", 1, 1, 2),
    ]
    assert found["difference"].to_list() == pytest.approx([0, 0.175, -0.5, -0.025])
    # of the 8 sign patterns of three differences, the observed and its mirror are as far from 0
    assert found["p"].to_list() == pytest.approx([1.0, 2 / 8, 2 / 4, 1.0])
    assert found["p_corrected"].to_list() == pytest.approx([1.0, 1.0, 1.0, 1.0])
    assert found["baseline"].unique().to_list() == ["a"]


def test_the_queries_that_changed_most_come_with_both_lists():
    scores = scores_of(
        a={"nDCG@10": [0.5, 0.5, 0.5], "AP": [0.0, 0.0, 0.0]},
        b={"nDCG@10": [0.6, 0.1, 0.5], "AP": [1.0, 1.0, 1.0]},
    )
    documents = [("q1", f"d{at}", "code") for at in range(12)]
    schema = {"query_id": pl.String, "doc_id": pl.String, "corpus": pl.String}
    run = numbered(pl.DataFrame(documents, schema=schema, orient="row"), "a")
    runs = pl.concat([run, run.filter(pl.col("rank") > 5).with_columns(config=pl.lit("b"))])
    found = check(
        changed(scores, runs, queries_of(*ABOUT), "a", most=2), CHANGED, "changed"
    ).to_dicts()
    assert [(row["query_id"], row["before"], row["after"]) for row in found] == [
        ("q1", 0.5, 0.1),
        ("q0", 0.5, 0.6),
    ]
    assert found[0]["text"] == "text 1"
    assert found[0]["before_list"] == [f"d{at}" for at in range(10)]
    assert found[0]["after_list"] == ["d6", "d7", "d8", "d9"]
    assert found[1]["before_list"] == found[1]["after_list"] == []

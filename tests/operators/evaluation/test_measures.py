import ir_measures
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, RR, R, nDCG

from operators.errors import UnknownName
from operators.evaluation.evaluation_frames import (
    CORPUS_SCORES,
    JUDGED_QUERIES,
    MEASURES,
    QRELS,
    measures_of,
)
from operators.evaluation.measures import corpus_scores, scores
from operators.evaluation.trec import numbered
from operators.frames import check


def run_of(lists, config="a"):
    rows = [(q, d, c) for q, documents in lists.items() for d, c in documents]
    schema = {"query_id": pl.String, "doc_id": pl.String, "corpus": pl.String}
    return numbered(pl.DataFrame(rows, schema=schema, orient="row"), config)


def qrels_of(*rows):
    return pl.DataFrame(rows, schema=QRELS, orient="row")


def values(frame, query, config="a"):
    part = frame.filter(pl.col("query_id") == query, pl.col("config") == config)
    return dict(part.select("measure", "value").iter_rows())


def test_a_query_or_configuration_without_an_answer_has_zero():
    run = run_of({"q": [("a", "code")]})
    qrels = qrels_of(("q", "a", 1), ("silent", "a", 1), ("none relevant", "a", 0))
    found = scores(run, qrels, ["a", "mute"])
    assert values(found, "q") == dict.fromkeys(MEASURES, 1.0)
    for query in ("silent", "none relevant"):
        assert values(found, query) == dict.fromkeys(MEASURES, 0.0)
    assert values(found, "q", "mute") == dict.fromkeys(MEASURES, 0.0)
    assert found.height == 2 * 3 * len(MEASURES)


@given(
    st.dictionaries(st.sampled_from("pqr"), st.permutations("abcdefghijklmnop"), min_size=1),
    st.dictionaries(
        st.tuples(st.sampled_from("pqrs"), st.sampled_from("abcdefxyz")),
        st.integers(0, 6),
        min_size=1,
    ),
)
def test_measures_are_those_of_ir_measures(lists, grades):
    run = run_of({q: [(d, "code") for d in documents] for q, documents in lists.items()})
    qrels = qrels_of(*((q, d, grade) for (q, d), grade in grades.items()))
    found = scores(run, qrels, ["a"])
    theirs = [ir_measures.Qrel(q, d, grade) for (q, d), grade in grades.items()]
    ours = [
        ir_measures.ScoredDoc(q, d, score)
        for q, d, score in run.select("query_id", "doc_id", "score").iter_rows()
    ]
    gained = nDCG(gains={grade: 2**grade - 1 for grade in range(1, 7)}) @ 10
    for name, measure in zip(MEASURES, (gained, R @ 50, RR @ 10, AP), strict=True):
        expected = {m.query_id: m.value for m in ir_measures.iter_calc([measure], theirs, ours)}
        got = dict(found.filter(pl.col("measure") == name).select("query_id", "value").iter_rows())
        assert got == pytest.approx({q: expected.get(q, 0.0) for q in qrels["query_id"].unique()})


def test_a_corpus_is_judged_by_its_own_documents():
    run = run_of({"q": [("w", "wiki"), ("c", "code")], "p": [("w", "wiki")]})
    qrels = qrels_of(("q", "c", 1), ("q", "w2", 1), ("p", "w", 1), ("p", "c", 1))
    homes = pl.DataFrame({"doc_id": ["c", "w", "w2"], "corpus": ["code", "wiki", "wiki"]})
    rows = [{"query_id": "q"}, {"query_id": "p", "corpora": ["wiki"]}]
    queries = pl.DataFrame(rows, schema=JUDGED_QUERIES)
    found = check(
        corpus_scores(run, queries, qrels, homes, ["a"], measures=["RR@10"]), CORPUS_SCORES, "found"
    )
    assert found.select("corpus", "query_id", "value").rows() == [
        ("code", "q", 1.0),
        ("wiki", "p", 1.0),
        ("wiki", "q", 0.0),
    ]


def test_accuracy_is_success_at_any_cut_and_measures_stand_in_the_order_that_was_asked():
    run = run_of({"q": [("x", "code"), ("a", "code"), ("b", "code")]})
    asked = ["Acc@2", "Success@2", "Acc@1", "P@2", "R@3", "nDCG@1", "MRR", "RR@1", "AP@2"]
    found = scores(run, qrels_of(("q", "a", 1), ("q", "b", 1)), ["a"], measures=asked)
    assert measures_of(found) == asked
    assert values(found, "q") == pytest.approx(
        {"Acc@2": 1, "Success@2": 1, "Acc@1": 0, "P@2": 0.5, "R@3": 1, "nDCG@1": 0}
        | {"MRR": 0.5, "RR@1": 0, "AP@2": 0.25}
    )


@pytest.mark.parametrize("name", ["ndcg@10", "Acc", "Acc@0", "AP@x"])
def test_an_unknown_measure_is_an_error(name):
    with pytest.raises(UnknownName, match="unknown measure "):
        scores(run_of({}), qrels_of(("q", "a", 1)), ["a"], measures=[name])

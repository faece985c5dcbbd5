import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from operators.evaluation.evaluation_frames import JUDGED_QUERIES, QRELS, RUN
from operators.evaluation.notes import evaluation_notes, few_queries_note
from operators.evaluation.statistics import holm, randomisation_p
from operators.evaluation.tables import SIGNIFICANT


def told(queries, qrels, homes, answered, configs=("a",), triggers=None, **options):
    rows = [{"query_id": q, "trigger": (triggers or {}).get(q)} for q in queries]
    given = pl.DataFrame(rows, schema=JUDGED_QUERIES)
    all_qrels = pl.DataFrame(qrels, schema=QRELS, orient="row")
    judged = given.join(all_qrels, on="query_id", how="semi")
    kept = all_qrels.join(given, on="query_id", how="semi")
    known = pl.DataFrame({"doc_id": homes}, schema={"doc_id": pl.String})
    runs = pl.DataFrame([{"config": c, "query_id": q} for c, q in answered], schema=RUN)
    return evaluation_notes(given, all_qrels, judged, kept, known, runs, configs, **options)


def test_what_the_numbers_leave_out_is_said():
    notes = told(
        ["p", "q", "unjudged"],
        [("p", "d", 1), ("q", "e", 0), ("stranger", "d", 1), ("p", "gone", 2)],
        ["d", "e"],
        [("a", "p"), ("a", "q"), ("b", "p")],
        ("a", "b", "mute"),
    )
    assert notes == (
        "1 query without judgements left out: unjudged",
        "1 judged query is not in the file of queries: stranger",
        "1 query has no relevant document, and score 0: q",
        "1 relevant document is not in the collection, and counts as missed: gone",
        "b answers nothing to 1 query: q",
        "mute answers nothing to 2 queries: p, q",
    )


@given(st.integers(2, 12), st.integers(1, 8))
def test_a_corrected_p_is_below_the_level_at_best_where_no_note_is_given(queries, comparisons):
    p = randomisation_p(np.ones((queries, comparisons)))
    assert (holm(p).min() < SIGNIFICANT) == (few_queries_note(queries, comparisons) == [])

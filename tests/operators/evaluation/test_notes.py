import polars as pl

from operators.evaluation.evaluation_frames import JUDGED_QUERIES, QRELS, RUN
from operators.evaluation.notes import evaluation_notes


def told(queries, qrels, homes, answered, configs=("a",)):
    given = pl.DataFrame([{"query_id": q} for q in queries], schema=JUDGED_QUERIES)
    all_qrels = pl.DataFrame(qrels, schema=QRELS, orient="row")
    judged = given.join(all_qrels, on="query_id", how="semi")
    kept = all_qrels.join(given, on="query_id", how="semi")
    known = pl.DataFrame({"doc_id": homes}, schema={"doc_id": pl.String})
    runs = pl.DataFrame([{"config": c, "query_id": q} for c, q in answered], schema=RUN)
    return evaluation_notes(given, all_qrels, judged, kept, known, runs, configs)


def test_nothing_is_said_where_all_is_plain():
    assert told(["p"], [("p", "d", 1)], ["d"], [("a", "p")]) == ()


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
        "1 relevant document is not in the collection, and can't be found: gone",
        "b answers nothing to 1 query: q",
        "mute answers nothing to 2 queries: p",
    )

"""What reviews say of files, and a pull request of its threads."""

from __future__ import annotations

from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from operators.frames import FUSED
from operators.ranking.related import related

WEIGHTS: dict[str, Any] = {"by_reviews": 0.3, "by_pull_request": 0.7, "most_reviews": 30}
NONE: dict[str, Any] = {"by_reviews": 0.0, "by_pull_request": 0.0, "most_reviews": 0}


def hit(
    chunk_id: int,
    score: float,
    corpus: str = "code",
    path: str | None = "a.py",
    pull: int | None = None,
    **more: Any,
) -> dict[str, Any]:
    held = None if pull is None else f'{{"line": 3, "pr_number": {pull}}}'
    row = {"chunk_id": chunk_id, "score": score, "corpus": corpus, "path": path, "repo": "o/r"}
    return {"query_id": 0, **row, "metadata": held, **more}


def scores(*rows: dict[str, Any], **weights: Any) -> dict[int, float]:
    frame = pl.DataFrame(list(rows), schema=FUSED)
    found = related(frame, corpora=["code"], **{**WEIGHTS, **weights})
    of_one = found.filter(query_id=0)["score"].to_list()
    assert of_one == sorted(of_one, reverse=True)
    return {n: round(score, 9) for n, score in found["chunk_id", "score"].iter_rows()}


def test_a_file_gains_by_the_best_remark_on_it() -> None:
    remarks = [hit(2, 0.9, "review", pull=1), hit(3, 0.5, "review", pull=2)]
    assert scores(hit(1, 0.4), *remarks)[1] == round(0.4 + 0.3 * 0.9, 9)


def test_remarks_on_other_files_of_other_repositories_and_for_other_questions_say_nothing() -> None:
    others = [
        hit(2, 0.9, "review", pull=1, path="b.py"),
        hit(3, 0.9, "review", pull=2, repo="o/other"),
        hit(4, 0.9, "review", pull=3, query_id=1),
        hit(5, 0.9, "review", pull=4, path=None),
    ]
    assert scores(hit(1, 0.4), *others)[1] == 0.4


def test_only_the_best_remarks_of_a_question_count() -> None:
    remarks = [hit(2, 0.9, "review", "b.py", 1), hit(3, 0.5, "review", pull=2)]
    assert scores(hit(1, 0.4), *remarks, most_reviews=1)[1] == 0.4
    assert scores(hit(1, 0.4), *remarks, most_reviews=2)[1] == round(0.4 + 0.3 * 0.5, 9)


def test_a_thread_of_a_pull_request_that_answers_well_changes_places_with_other_threads() -> None:
    found = scores(
        hit(1, 1.0, "review", pull=1),
        hit(2, 0.2, "review", "b.py", 1),
        hit(3, 0.3, "review", pull=2),
        hit(4, 0.25, path="c.py"),
    )
    assert found == {1: 1.0, 2: 0.3, 3: 0.2, 4: 0.25}


def test_a_page_that_is_not_of_the_linked_corpora_gains_nothing() -> None:
    assert scores(hit(1, 0.4, "docs"), hit(2, 0.9, "review", pull=1))[1] == 0.4


ROWS = st.lists(
    st.builds(
        lambda n, score, corpus, path, pull: hit(
            n, score, corpus, path, pull if corpus == "review" else None
        ),
        st.integers(0, 1_000),
        st.floats(0, 1),
        st.sampled_from(["code", "review", "docs"]),
        st.sampled_from(["a.py", "b.py", None]),
        st.integers(1, 3),
    ),
    max_size=12,
    unique_by=lambda row: row["chunk_id"],
)


@given(ROWS)
def test_the_threads_keep_their_scores_among_them_and_a_file_gains_a_share_of_the_best(
    rows: list[dict[str, Any]],
) -> None:
    before = {row["chunk_id"]: round(row["score"], 9) for row in rows}
    threads = {row["chunk_id"] for row in rows if row["metadata"]}
    after = scores(*rows)
    assert after.keys() == before.keys()
    assert sorted(after[n] for n in threads) == sorted(before[n] for n in threads)
    best = max((before[n] for n in threads), default=0.0)
    assert all(
        before[n] <= after[n] <= before[n] + 0.3 * best + 1e-9 for n in before.keys() - threads
    )


@given(ROWS)
def test_without_weights_the_scores_are_as_before(rows: list[dict[str, Any]]) -> None:
    before = {row["chunk_id"]: round(row["score"], 9) for row in rows}
    assert scores(*rows, **NONE) == before

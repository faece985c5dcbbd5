"""What commits and reviews say of files, and a pull request of its threads and issues."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operators.frames import FUSED
from operators.ranking.related import related

WEIGHTS: dict[str, Any] = {
    "by_commits": 0.2,
    "by_reviews": 0.3,
    "by_pull_request": 0.7,
    "most_linked": 30,
}
NONE: dict[str, Any] = {**dict.fromkeys(WEIGHTS, 0.0), "most_linked": 0}


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
    assert scores(hit(1, 0.4), *remarks, most_linked=1)[1] == 0.4
    assert scores(hit(1, 0.4), *remarks, most_linked=2)[1] == round(0.4 + 0.3 * 0.5, 9)


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


def commit(chunk_id: int, score: float, *paths: Any, **more: Any) -> dict[str, Any]:
    held = json.dumps({"changed_paths": list(paths)})
    more = {"document_id": f"c{chunk_id}", "source_label": f"commit {chunk_id}", **more}
    return hit(chunk_id, score, "history", None, **more) | {"metadata": held}


def issue(chunk_id: int, score: float, number: int, **more: Any) -> dict[str, Any]:
    held = f'{{"issue_number": {number}, "n_comments": 2}}'
    return hit(chunk_id, score, "issue", None, **{"metadata": held, **more})


def closing(chunk_id: int, score: float, pull: int, *issues: int) -> dict[str, Any]:
    held = json.dumps({"closes": list(issues), "pr_number": pull})
    return hit(chunk_id, score, "review", "a.py", metadata=held)


def test_an_issue_comes_before_others_by_the_pull_request_that_closes_it() -> None:
    issues = [issue(1, 0.3, 7), issue(2, 0.4, 8), issue(3, 0.35, 70)]
    assert scores(*issues, closing(4, 0.9, 5, 7)) == {4: 0.9, 1: 0.4, 2: 0.35, 3: 0.3}
    assert scores(*issues, closing(4, 0.9, 5, 6, 7, 8)) == {4: 0.9, 2: 0.4, 1: 0.35, 3: 0.3}
    assert scores(*issues, hit(4, 0.9, "review", pull=5))[1] == 0.3
    assert scores(*issues, closing(4, 0.9, 5, 7) | {"repo": "o/fork"})[1] == 0.3
    assert scores(*issues, closing(4, 0.9, 5, 7), by_pull_request=0.0)[1] == 0.3


def test_a_pull_request_s_threads_come_before_others_by_the_issue_that_it_closes() -> None:
    threads = [closing(1, 0.3, 5, 7), hit(2, 0.4, "review", pull=6)]
    assert scores(*threads, issue(3, 0.9, 7)) == {3: 0.9, 1: 0.4, 2: 0.3}
    assert scores(*threads, issue(3, 0.9, 8)) == {3: 0.9, 2: 0.4, 1: 0.3}


def test_the_gain_of_an_issue_and_of_a_thread_names_the_other() -> None:
    rows = [issue(1, 0.3, 7), issue(2, 0.4, 8), closing(3, 0.9, 5, 7), closing(5, 0.2, 5, 7)]
    labelled = [row | {"source_label": f"passage {row['chunk_id']}"} for row in rows]
    frame = related(pl.DataFrame(labelled, schema=FUSED), corpora=["code"], **WEIGHTS)
    named = dict(frame["chunk_id", "by_pull_request_from"].iter_rows())
    assert named == {1: "passage 3", 2: None, 3: None, 5: "passage 3"}


@pytest.mark.parametrize("closes", ["[]", '["7"]', "7", "null", "[[7]]", '{"a": 7}'])
def test_a_pull_request_that_says_it_otherwise_closes_nothing(closes: str) -> None:
    held = f'{{"closes": {closes}, "pr_number": 5}}'
    issues = [issue(1, 0.3, 7), issue(2, 0.4, 8)]
    assert scores(*issues, hit(4, 0.9, "review", metadata=held))[1] == 0.3


BOTH = [hit(1, 0.4), hit(10, 0.45, path="z.py")]
"""Two files of code; the first gets the other's score where commits give it more than .05."""


def first(*commits: dict[str, Any], **weights: Any) -> bool:
    """Whether the commits bring ``a.py`` before ``z.py``, and the two share their scores."""
    found = scores(*BOTH, *commits, **weights)
    assert {found[1], found[10]} == {0.4, 0.45}
    return found[1] > found[10]


def test_a_file_comes_before_others_by_a_commit_that_changed_it_the_less_the_more_it_changed() -> (
    None
):
    last = commit(9, 0.1, "y.py")
    assert first(commit(2, 0.4, "a.py"), last)  # .2 * .3
    assert not first(commit(2, 0.4, "a.py", "b.py", "c.py", "d.py"), last)
    assert first(commit(2, 0.7, "a.py", "b.py", "c.py", "d.py"), last)
    assert not first(commit(2, 0.7, "a.py"), commit(3, 0.65, "z.py"), last)


def test_of_many_commits_the_one_counts_that_says_most() -> None:
    last = commit(9, 0.1, "y.py")
    assert not first(*(commit(n, 0.3, "a.py") for n in range(2, 8)), last)
    assert first(commit(2, 0.5, "a.py", "b", "c", "d"), commit(3, 0.4, "a.py"), last)


def test_commits_count_by_what_they_have_more_than_the_first_that_does_not() -> None:
    many = [commit(n, score, "a.py") for n, score in ((2, 0.9), (3, 0.8), (4, 0.6), (5, 0.1))]
    assert first(*many, most_linked=2)
    assert not first(*many, most_linked=1)
    assert not first(*many, most_linked=0)


def test_of_a_commit_the_best_passage_counts() -> None:
    passages = [commit(n, score, "a.py", document_id="c") for n, score in ((2, 0.9), (3, 0.8))]
    assert not first(*passages)  # there is no other commit to stand out from
    assert first(*passages, commit(4, 0.1, "y.py"))


def test_a_commit_that_names_its_pull_request_links_its_files_too() -> None:
    held = '{"changed_paths": ["a.py"], "pr_number": 7}'
    assert first(commit(2, 0.9, "a.py") | {"metadata": held}, commit(9, 0.1, "y.py"))


def test_files_of_two_corpora_do_not_exchange_their_scores() -> None:
    rows = [*BOTH, hit(11, 0.42, "docs", "b.md"), hit(12, 0.5, "docs", "c.md")]
    rows += [commit(2, 0.9, "a.py", "b.md"), commit(9, 0.1, "y.py")]
    found = related(
        pl.DataFrame(rows, schema=FUSED), corpora=["code", "docs"], **WEIGHTS
    ).rows_by_key("chunk_id", named=True)
    assert {found[n][0]["score"] for n in (1, 10)} == {0.4, 0.45}
    assert (found[11][0]["score"], found[12][0]["score"]) == (0.5, 0.42)


def test_files_rank_no_higher_among_other_corpora_by_their_commits() -> None:
    page = hit(11, 0.46, "docs", "a.md")
    found = scores(*BOTH, page, commit(2, 0.9, "a.py"), commit(9, 0.1, "y.py"))
    assert found[11] > found[1] > found[10]


@pytest.mark.parametrize("paths", [None, 3, "a.py", [7, None], {"a.py": 1}, [["a.py"]]])
def test_the_metadata_of_others_links_nothing(paths: Any) -> None:
    own = {"changed_paths": paths, "x": {"changed_paths": []}}
    other = hit(2, 0.9, "wiki", None, metadata=json.dumps(own))
    nested = hit(3, 0.9, "wiki", None, metadata='{"x": {"changed_paths": ["a.py"]}}')
    assert not first(other, nested, commit(9, 0.1, "y.py"))


def test_a_gain_names_the_best_passage_that_it_comes_from_and_counts_the_others() -> None:
    review = hit(4, 0.7, "review", pull=1, source_label="review 4")
    commits = [commit(2, 0.9, "a.py"), commit(3, 0.8, "a.py"), commit(5, 0.3, "b.py")]
    commits.append(commit(8, 0.1, "a.py"))
    rows = [hit(1, 0.4), hit(6, 0.3, path="b.py"), hit(7, 0.2, path="c.py"), review, *commits]
    frame = related(pl.DataFrame(rows, schema=FUSED), corpora=["code"], **WEIGHTS)
    named = {
        n: texts
        for n, *texts in frame["chunk_id", "by_commits_from", "by_reviews_from"].iter_rows()
    }
    assert named[1] == ["commit 2 and 1 more", "review 4"]
    assert named[6] == ["commit 5", None]
    assert named[7] == named[2] == [None, None]


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


@example(
    [hit(0, 0.4381818534460037, "review", "b.py", 1), hit(1, 0.11871566349545584, "code", "b.py")]
)
@given(ROWS)
def test_the_threads_keep_their_scores_among_them_and_a_file_gains_a_share_of_the_best(
    rows: list[dict[str, Any]],
) -> None:
    before = {row["chunk_id"]: row["score"] for row in rows}
    threads = {row["chunk_id"] for row in rows if row["metadata"]}
    after = scores(*rows)
    assert after.keys() == before.keys()
    assert sorted(after[n] for n in threads) == sorted(round(before[n], 9) for n in threads)
    best = max((before[n] for n in threads), default=0.0)
    assert all(
        before[n] - 1e-9 < after[n] < before[n] + 0.3 * best + 1e-9 for n in before.keys() - threads
    )


@given(ROWS)
def test_without_weights_the_scores_are_as_before(rows: list[dict[str, Any]]) -> None:
    before = {row["chunk_id"]: round(row["score"], 9) for row in rows}
    assert scores(*rows, **NONE) == before

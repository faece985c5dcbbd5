"""What commits and reviews say of files, and a pull request of its threads and issues."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.frames import FUSED
from operators.ranking.total_order import ranked
from operators.signals import linked
from operators.signals.order import ranked as by_rules
from tests.support.ordering import asked, told

WEIGHTS = {"by_commits": 0.2, "by_reviews": 1.3, "by_pull_request": 0.7}


@pytest.fixture(autouse=True)
def most(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of the best passages that count, if a test sets one."""
    monkeypatch.setattr(linked, "MOST_LINKED", getattr(request, "param", 30))


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


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return ranked(pl.DataFrame(list(rows), schema=FUSED), pl.col("score"))


def said(*rows: dict[str, Any], **weights: float) -> pl.DataFrame:
    """What the rules say of the first question's rows, with ``gain`` in the unit of the scores."""
    queries = pl.concat([asked("how?"), asked("how?", query=1)])
    return told(frame(*rows), queries, {**WEIGHTS, **weights})


def scores(*rows: dict[str, Any], **weights: float) -> dict[int, float]:
    found = by_rules(frame(*rows), said(*rows, **weights))
    of_one = found.filter(query_id=0)["score"].to_list()
    assert of_one == sorted(of_one, reverse=True)
    return {n: round(score, 9) for n, score in found["chunk_id", "score"].iter_rows()}


def gains(rule: str, *rows: dict[str, Any]) -> dict[int, tuple[float, int]]:
    """For each chunk that gains by ``rule`` how much, and from which chunk."""
    of_rule = said(*rows).filter(signal=rule, query_id=0)
    found = of_rule["chunk_id", "value", "source"].iter_rows()
    return {n: (round(value, 9), source) for n, value, source in found}


def test_a_file_gains_by_the_best_remark_on_it() -> None:
    remarks = [hit(2, 0.9, "review", pull=1), hit(3, 0.5, "review", pull=2)]
    assert gains("by_reviews", hit(1, 0.5), *remarks) == {1: (1.0, 2)}
    assert scores(hit(1, 0.5), *remarks)[1] == 0.5 * 1.3
    assert scores(hit(1, 0.5), hit(4, 1.0, "review", "b.py", 1), remarks[1])[1] < 0.5 * 1.3


def test_remarks_on_other_files_of_other_repositories_and_for_other_questions_say_nothing() -> None:
    others = [
        hit(2, 0.9, "review", pull=1, path="b.py"),
        hit(3, 0.9, "review", pull=2, repo="o/other"),
        hit(4, 0.9, "review", pull=3, query_id=1),
        hit(5, 0.9, "review", pull=4, path=None),
    ]
    assert gains("by_reviews", hit(1, 0.4), *others) == {}


@pytest.mark.parametrize(("most", "count"), [(1, 0), (2, 1)], indirect=["most"])
def test_only_the_best_remarks_of_a_question_count(most: None, count: int) -> None:
    remarks = [hit(2, 0.9, "review", "b.py", 1), hit(3, 0.5, "review", pull=2)]
    assert len(gains("by_reviews", hit(1, 0.4), *remarks)) == count


def test_a_thread_of_a_pull_request_that_answers_well_changes_places_with_other_threads() -> None:
    found = scores(
        hit(1, 1.0, "review", pull=1),
        hit(2, 0.2, "review", "b.py", 1),
        hit(3, 0.3, "review", pull=2),
        hit(4, 0.25, path="c.py"),
    )
    assert found == {1: 1.0, 2: 0.3, 3: 0.2, 4: 0.25}


def test_a_page_that_is_no_file_of_code_gains_nothing() -> None:
    assert gains("by_reviews", hit(1, 0.4, "docs"), hit(2, 0.9, "review", pull=1)) == {}


def commit(chunk_id: int, score: float, *paths: Any, **more: Any) -> dict[str, Any]:
    held = json.dumps({"changed_paths": list(paths)})
    more = {"document_id": f"c{chunk_id}", "source_label": f"commit {chunk_id}", **more}
    return hit(chunk_id, score, "history", None, **more) | {"metadata": held}


def issue(chunk_id: int, score: float, number: int, **more: Any) -> dict[str, Any]:
    held = f'{{"issue_number": {number}, "n_comments": 2}}'
    return hit(chunk_id, score, "issue", None, **{"metadata": held, **more})


def closing(closes: str, **more: Any) -> dict[str, Any]:
    return hit(
        4, metadata=f'{{"closes": {closes}, "pr_number": 5}}', **{"corpus": "review", **more}
    )


@pytest.mark.parametrize(
    ("closes", "gained"), [("[3, 7]", 0.4), ('["7"]', 0.3), ("7", 0.3), ("[[7]]", 0.3)]
)
def test_an_issue_gains_by_the_pull_request_that_closes_it(closes: str, gained: float) -> None:
    issues = [issue(1, 0.3, 7), issue(2, 0.4, 8)]
    assert scores(*issues, closing(closes, score=0.9))[1] == gained


def test_a_thread_gains_by_the_issue_that_its_pull_request_closes() -> None:
    other = hit(5, 0.4, "review", "b.py", 6)
    found = scores(issue(1, 0.9, 7), closing("[7]", score=0.3), other)
    assert (found[4], found[5]) == (0.4, 0.3)


BOTH = [hit(1, 0.4), hit(10, 0.45, path="z.py")]
"""Two files of code; the first gets the other's score where commits give it more than .05."""


def first(*commits: dict[str, Any]) -> bool:
    """Whether the commits bring ``a.py`` before ``z.py``, and the two share their scores."""
    found = scores(*BOTH, *commits)
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


@pytest.mark.parametrize(
    ("most", "is_first"), [(2, True), (1, False), (0, False)], indirect=["most"]
)
def test_commits_count_by_what_they_have_more_than_the_first_that_does_not(
    most: None, is_first: bool
) -> None:
    many = [commit(n, score, "a.py") for n, score in ((2, 0.9), (3, 0.8), (4, 0.6), (5, 0.1))]
    assert first(*many) == is_first


def test_of_a_commit_the_best_passage_counts() -> None:
    passages = [commit(n, score, "a.py", document_id="c") for n, score in ((2, 0.9), (3, 0.8))]
    assert not first(*passages)  # there is no other commit to stand out from
    assert first(*passages, commit(4, 0.1, "y.py"))


def test_a_commit_that_names_its_pull_request_links_its_files_too() -> None:
    held = '{"changed_paths": ["a.py"], "pr_number": 7}'
    assert first(commit(2, 0.9, "a.py") | {"metadata": held}, commit(9, 0.1, "y.py"))


def test_files_rank_no_higher_among_other_corpora_by_their_commits() -> None:
    page = hit(11, 0.46, "docs", "a.md")
    found = scores(*BOTH, page, commit(2, 0.9, "a.py"), commit(9, 0.1, "y.py"))
    assert found[11] > found[1] > found[10]


@pytest.mark.parametrize("paths", [3, [7, None], {"a.py": 1}])
def test_the_metadata_of_others_links_nothing(paths: Any) -> None:
    own = {"changed_paths": paths, "x": {"changed_paths": []}}
    other = hit(2, 0.9, "wiki", None, metadata=json.dumps(own))
    nested = hit(3, 0.9, "wiki", None, metadata='{"x": {"changed_paths": ["a.py"]}}')
    assert not first(other, nested, commit(9, 0.1, "y.py"))


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
def test_the_hits_of_a_corpus_keep_their_scores_among_them(rows: list[dict[str, Any]]) -> None:
    after = scores(*rows, by_reviews=0.0)
    for corpus in ("code", "review", "docs"):
        own = [row for row in rows if row["corpus"] == corpus]
        kept = sorted(after[row["chunk_id"]] for row in own)
        assert kept == sorted(round(row["score"], 9) for row in own)

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import permutations
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.dedup import across

Make = Callable[..., pl.DataFrame]

COMMIT = {"corpus": "history", "document_id": "a" * 40, "text": "Take less memory (#12)\n"}
PULL = {"corpus": "review", "document_id": "pull/12", "text": "@ann: Less memory.\n\nFixes #7."}
ISSUE = {"corpus": "issue", "document_id": "issues/7", "text": "@bob: It takes all memory."}


def listed(make: Make, *rows: dict[str, Any]) -> pl.DataFrame:
    shown = {"repo": "org/app", "start_line": 1}
    return make(*({**shown, "chunk_id": n, "rank": n, **row} for n, row in enumerate(rows)))


def shown(make: Make, *rows: dict[str, Any]) -> list[list[int]]:
    """Each row that stays, followed by those that it carries."""
    found = across.guarded(listed(make, *rows))
    assert found["rank"].to_list() == list(range(found.height))
    pairs = found.select("chunk_id", "alternate_sources").iter_rows()
    return [[chunk, *(one["chunk_id"] for one in others)] for chunk, others in pairs]


def test_a_commit_its_request_and_the_issue_that_it_closes_are_one_place(make_hits: Make) -> None:
    for rows in permutations([COMMIT, PULL, ISSUE]):  # the request alone names both others
        assert shown(make_hits, *rows) == [[0, 1, 2]]


@pytest.mark.parametrize(
    "text",
    [
        "Take less memory (#12)\n\nFiles:\nmemory.py\n",
        "Take less memory\n\nMerge pull request #12 from ann/memory\n",
        "Take less memory (!12)\n",
        "Merge branch 'memory' into 'main'\n\nTake less.\n\nSee merge request org/app!12\n",
    ],
)
def test_a_commit_names_its_request_in_each_forges_way(make_hits: Make, text: str) -> None:
    assert shown(make_hits, PULL, COMMIT | {"text": text}) == [[0, 1]]


@pytest.mark.parametrize(
    "text",
    [
        "Take less memory, see (#12) and #12\n",
        'Revert "Take less memory (#12)" (#13)\n',
        "Take less memory (#120)\n",
        "Take less memory\n\nAs said in\n(#12)\n",
        "Closes #12\n",
    ],
)
def test_a_commit_that_only_mentions_a_request_is_another_change(
    make_hits: Make, text: str
) -> None:
    assert shown(make_hits, PULL, COMMIT | {"text": text}) == [[0], [1]]


@pytest.mark.parametrize(
    ("text", "closes"),
    [
        ("Fix it\n\nFixes #7\n", True),
        ("Fix it\n\nresolves: #7.\n", True),
        ("Fix it\n\nSee #7\n", False),
        ("Fixes #70\n", False),
        ("Fixes org/lib#7\n", False),
        ("Prefixes #7\n", False),
    ],
)
def test_an_issue_goes_with_a_commit_that_closes_it(
    make_hits: Make, text: str, closes: bool
) -> None:
    found = shown(make_hits, COMMIT | {"text": text}, ISSUE)
    assert found == ([[0, 1]] if closes else [[0], [1]])


@pytest.mark.parametrize(
    "other",
    [
        PULL | {"document_id": "pull/12#discussion_r5"},
        PULL | {"start_line": 9},
        PULL | {"repo": "org/lib"},
        COMMIT | {"document_id": "b" * 40, "text": "Take even less (#12)"},
        {"corpus": "docs", "document_id": "pull/12", "text": "A page."},
    ],
)
def test_a_remark_and_a_document_of_the_same_kind_stay(
    make_hits: Make, other: dict[str, Any]
) -> None:
    assert shown(make_hits, COMMIT, other) == [[0], [1]]


def test_two_commits_that_close_an_issue_are_two_places(make_hits: Make) -> None:
    one, two = ({**COMMIT, "document_id": c * 40, "text": f"{c}\n\nFixes #7"} for c in "ab")
    assert shown(make_hits, ISSUE, one, two) == [[0, 1], [2]]


def test_a_change_of_another_question_stays(make_hits: Make) -> None:
    hits = listed(make_hits, COMMIT, PULL | {"query_id": 1, "rank": 0})
    assert across.jaccard(hits).equals(hits)


numbers = st.integers(1, 4)
texts = st.builds("{} (#{})\n\nFixes #{}".format, st.sampled_from(["a", "b c"]), numbers, numbers)
changes = st.one_of(
    st.builds(lambda text: COMMIT | {"text": text}, texts),
    st.builds(lambda n, text: PULL | {"document_id": f"pull/{n}", "text": text}, numbers, texts),
    st.builds(lambda n: ISSUE | {"document_id": f"issues/{n}", "text": f"i {n}"}, numbers),
    st.builds(lambda n: PULL | {"document_id": f"pull/{n}#r{n}", "text": f"r {n}"}, numbers),
)


@given(
    rows=st.lists(changes, min_size=1, max_size=12),
    query=st.lists(st.integers(0, 1), min_size=1, max_size=12),
)
def test_every_passage_is_in_the_list_or_carried_by_one_place(
    make_hits: Make, rows: list[dict[str, Any]], query: list[int]
) -> None:
    given_rows = [row | {"query_id": q} for row, q in zip(rows, sorted(query), strict=False)]
    hits = listed(make_hits, *given_rows)
    found = across.guarded(hits)
    pairs = found.select("query_id", "chunk_id", "alternate_sources").rows()
    held = Counter((q, chunk) for q, chunk, _ in pairs)
    held += Counter((q, one["chunk_id"]) for q, _, others in pairs for one in others)
    assert held == Counter(hits.select("query_id", "chunk_id").iter_rows())
    best = dict(reversed(hits.select("query_id", "chunk_id").rows()))
    assert set(best.items()) <= {(q, c) for q, c, _ in pairs}

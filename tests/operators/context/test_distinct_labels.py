from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.context.distinct_labels import ADDITIONS, tell_apart, tell_corpora_apart, ways_of

Make = Callable[..., pl.DataFrame]
LABEL = "[docs: Release_v5.3.3.md (only up to 5.3.3)]"


def told(chunks: pl.DataFrame, labels: list[str]) -> list[str]:
    rows = list(range(chunks.height))
    return list(tell_apart([0] * chunks.height, labels, ways_of(chunks, rows)))


@pytest.mark.parametrize(
    ("rows", "ends"),
    [
        (
            [{"start_line": n, "end_line": m} for n, m in ((1, 9), (10, 42), (43, 43))],
            ["lines 1-9", "lines 10-42", "line 43"],
        ),
        (
            [{"start_line": n, "end_line": n, "metadata": f'{{"page": {n}}}'} for n in (3, 12)],
            ["page 3", "page 12"],
        ),
        ([{"ordinal": 0}, {"ordinal": 4}], ["passage 1", "passage 5"]),
        ([{"path": "a/x.md"}, {"path": "b/x.md"}], ["in a/x.md", "in b/x.md"]),
        ([{"repo": ""}, {"repo": "o/b"}], ["", "in o/b"]),
        ([{"document_id": "12"}, {"document_id": "13"}], ["in 12", "in 13"]),
        (
            [{"metadata": '{"page": 3}', "ordinal": n} for n in (7, 8)],
            ["passage 8", "passage 9"],
        ),
        (
            [{"path": p, "ordinal": n} for p, n in (("a", 0), ("a", 1), ("b", 0))],
            ["in a, passage 1", "in a, passage 2", "in b"],
        ),
        ([{"chunk_id": 1}, {"chunk_id": -1}], [f"#{1:016x}", "#" + "f" * 16]),
    ],
)
def test_what_shares_a_label_gets_what_differs(
    make_chunks: Make, rows: list[dict[str, Any]], ends: list[str]
) -> None:
    labels = told(make_chunks(*rows), [LABEL] * len(rows))
    assert labels == [f"{LABEL[:-1]}, {end}]" if end else LABEL for end in ends]
    for label, end in zip(labels, ends, strict=True):
        assert not end or re.sub(f"{ADDITIONS}$", "", label[1:-1]) == LABEL[1:-1]


def test_a_label_that_is_the_only_one_of_its_kind_stays(make_chunks: Make) -> None:
    labels = ["[docs: a]", "[docs: b]"]
    assert told(make_chunks({"ordinal": 1}, {"ordinal": 2}), labels) == labels
    chunks = make_chunks({"ordinal": 1}, {"ordinal": 2})
    assert tell_apart([0, 1], ["[docs: a]"] * 2, ways_of(chunks, [0, 1])) == ["[docs: a]"] * 2


chunk = st.fixed_dictionaries(
    {},
    optional={
        "repo": st.sampled_from(["", "a", "b"]),
        "path": st.sampled_from(["", "x", "y, passage 1"]),
        "ordinal": st.integers(0, 2),
        "start_line": st.integers(1, 2),
        "end_line": st.just(3),
        "metadata": st.sampled_from(["{}", '{"page": 1}', '{"page": "x"}']),
    },
)
titles = st.sampled_from(["[docs: a]", "[docs: a, passage 1]", "[docs: a, in x]"])


@given(st.lists(st.tuples(chunk, titles), max_size=8))
def test_no_two_passages_of_an_answer_have_one_label(
    make_chunks: Make, rows: list[tuple[dict[str, Any], str]]
) -> None:
    chunks = make_chunks(*({**row, "chunk_id": n} for n, (row, _) in enumerate(rows)))
    labels = told(chunks, [label for _, label in rows])
    assert len(set(labels)) == len(labels)
    assert all(label.startswith("[docs: a") and label.endswith("]") for label in labels)


def test_a_hostile_path_ends_no_label(make_chunks: Make) -> None:
    chunks = make_chunks({"path": "a\n\u202e" + "b" * 500}, {"path": "c"})
    first, _ = told(chunks, [LABEL] * 2)
    assert first.startswith(f"{LABEL[:-1]}, in a\\u{{a}}\\u{{202e}}bbb")
    assert len(first) < 300


def test_corpora_whose_templates_say_the_same_are_told_apart(make_results: Make) -> None:
    pooled = make_results({"corpus": "old"}, {"corpus": "new"}, {"source_label": "[wiki: B]"})
    labels = tell_corpora_apart(pooled)["source_label"].to_list()
    assert labels == ["[wiki: Page, corpus old]", "[wiki: Page, corpus new]", "[wiki: B]"]
    assert tell_corpora_apart(pooled[1:]).equals(pooled[1:])

"""The labels of what an answer shows, and how they are told apart."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.context.distinct_labels import tell_apart, ways_of
from operators.context.labels import labelled, labels_of
from operators.frames import CORPORA, FUSED, LABELS, SHOWN, check, empty
from operators.ranking.named_places import ADDITIONS

Make = Callable[..., pl.DataFrame]
WIKI = {"corpus": "wiki", "label": "{title}", "link": "{uri}"}
CODE = {"corpus": "code", "label": "{path}[[:{start_line}-{end_line}]]"}
LABEL = "[docs: Release_v5.3.3.md (only up to 5.3.3)]"


def corpora(*rows: dict[str, Any]) -> pl.DataFrame:
    """CORPORA with templates alone."""
    return pl.DataFrame(rows, schema=CORPORA)


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
        ([{"path": "a/x.md"}, {"path": "b/x.md"}], ["in a/x.md", "in b/x.md"]),
        ([{"document_id": "12"}, {"document_id": "13"}], ["in 12", "in 13"]),
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


def shown(*rows: dict[str, Any]) -> pl.DataFrame:
    """FUSED from queries, chunks and copies."""
    plain = {"query_id": 0, "corpus": "code", "alternate_sources": []}
    return pl.DataFrame([plain | row for row in rows], schema=FUSED)


def copy(chunk_id: int, corpus: str = "code", repo: str = "") -> dict[str, Any]:
    return {"chunk_id": chunk_id, "corpus": corpus, "repo": repo}


def test_corpora_whose_templates_say_the_same_are_told_apart(make_chunks: Make) -> None:
    names = [("old", "A"), ("new", "A"), ("new", "B")]
    chunks = make_chunks(*({"chunk_id": n, "title": title} for n, (_, title) in enumerate(names)))
    chunks = chunks.with_columns(corpus=pl.Series([corpus for corpus, _ in names]))
    hits = shown(*({"chunk_id": n, "corpus": corpus} for n, (corpus, _) in enumerate(names)))
    same = corpora(
        *({**WIKI, "corpus": name, "label": "[wiki: {title}]"} for name in ("old", "new"))
    )
    found = labels_of([hits], hits, chunks, same)["source_label"].to_list()
    assert found == ["[wiki: A, corpus old]", "[wiki: A, corpus new]", "[wiki: B]"]


def test_a_copy_in_another_repository_says_which(make_chunks: Make) -> None:
    rows = [{"chunk_id": n, "repo": repo} for n, repo in enumerate(("o/app", "o/fork", "", "o/c"))]
    lines = {"path": "src/a.py", "start_line": 1, "end_line": 9}
    chunks = make_chunks(*({**row, **lines} for row in rows))
    first = {"chunk_id": 0, "alternate_sources": [copy(1, repo="o/fork")]}
    hits = shown(first, {"chunk_id": 2}, {"chunk_id": 3})
    found = labelled(hits, labels_of([hits], hits, chunks, corpora(CODE), {"code"}))
    check(found, SHOWN, "found")
    assert found["source_label"].to_list() == [
        "[code: o/app/src/a.py:1-9]",
        "[code: src/a.py:1-9]",
        "[code: o/c/src/a.py:1-9]",
    ]
    (other,) = found["alternate_sources"][0]
    assert (other["repo"], other["source_label"]) == ("o/fork", "[code: o/fork/src/a.py:1-9]")
    single = labelled(hits[:1], labels_of([hits[:1]], hits[:1], chunks, corpora(CODE)))
    (other,) = single["alternate_sources"][0]
    assert (single["source_label"][0], other["source_label"]) == (
        "[code: src/a.py:1-9, in o/app]",
        "[code: src/a.py:1-9, in o/fork]",
    )


def test_passages_of_one_answer_share_no_label_and_its_company_in_a_batch_changes_none(
    make_chunks: Make,
) -> None:
    chunks = make_chunks(*({"chunk_id": n, "title": "T", "ordinal": n} for n in range(3)))
    chunks = chunks.with_columns(corpus=pl.lit("wiki"))
    first = shown({"chunk_id": 0, "alternate_sources": [copy(2, "wiki")]}, {"chunk_id": 1})
    first, second = (
        hits.with_columns(corpus=pl.lit("wiki"))
        for hits in (first, shown({"query_id": 1, "chunk_id": 1}))
    )

    def names(*frames: pl.DataFrame) -> list[str]:
        labels = labels_of(frames, pl.concat(frames), chunks, corpora(WIKI))
        found = pl.concat([labelled(hits, labels) for hits in frames])
        others = [one["source_label"] for some in found["alternate_sources"] for one in some]
        return [*found["source_label"], *others]

    assert names(first) == [f"[wiki: T, passage {n}]" for n in (1, 2, 3)]
    assert names(second) == ["[wiki: T]"]
    assert names(first, second) == [
        *(f"[wiki: T, passage {n}]" for n in (1, 2)),
        "[wiki: T]",
        "[wiki: T, passage 3]",
    ]


def test_a_label_that_a_hit_has_that_is_not_shown_says_what_differs(make_chunks: Make) -> None:
    chunks = make_chunks(*({"chunk_id": n, "title": "T", "path": f"{n}"} for n in range(2)))
    chunks = chunks.with_columns(corpus=pl.lit("wiki"))
    hits = shown(*({"corpus": "wiki", "chunk_id": n, "title": "T"} for n in range(2)))
    alone = labels_of([hits[:1]], hits[:1], chunks, corpora(WIKI))["source_label"].to_list()
    among = labels_of([hits[:1]], hits, chunks, corpora(WIKI))["source_label"].to_list()
    assert (alone, among) == (["[wiki: T]"], ["[wiki: T, in 0]", "[wiki: T, in 1]"])


def test_a_hit_of_a_callers_own_keeps_its_label_or_is_called_by_its_path() -> None:
    hits = shown({"chunk_id": 1, "path": "a.py"}, {"chunk_id": 2, "document_id": "b"})
    assert labelled(hits, empty(LABELS))["source_label"].to_list() == ["[code: a.py]", "[code: b]"]
    own = hits.with_columns(source_label=pl.Series(["[x]", None]), source_url=pl.lit("https://x"))
    found = labelled(own, empty(LABELS))
    assert found["source_label", "source_url"].rows() == [
        ("[x]", "https://x"),
        ("[code: b]", "https://x"),
    ]

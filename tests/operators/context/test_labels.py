"""Labels that are told apart, and the common form of all corpora."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.context.distinct_labels import tell_apart, tell_corpora_apart, ways_of
from operators.context.unified_form import unify
from operators.frames import CORPORA, UNIFIED, check
from operators.ranking.named_places import ADDITIONS

Make = Callable[..., pl.DataFrame]
WIKI = {"corpus": "wiki", "label": "{title}", "link": "{uri}"}
CODE = {"corpus": "code", "label": "{path}[[:{start_line}-{end_line}]]"}
LABEL = "[docs: Release_v5.3.3.md (only up to 5.3.3)]"


def corpora(*rows: dict[str, Any]) -> pl.DataFrame:
    """CORPORA from what differs from a plain row."""
    plain = {"many_repos": False, "full_length_words": 0}
    return pl.DataFrame([{**plain, **row} for row in rows], schema=CORPORA)


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


def test_a_corpus_takes_the_common_form(make_chunks: Make, make_deduped: Make) -> None:
    chunks = make_chunks(
        {"chunk_id": 5, "title": "Five", "repo": "o/app", "uri": "https://h/5", "text": "five"},
        {"chunk_id": 6, "title": "Six", "text": "six"},
        {"chunk_id": 7, "title": "Seven", "text": "seven", "version": "2"},
    ).with_columns(corpus=pl.lit("wiki"))
    deduped = make_deduped(
        {"chunk_id": 7, "rank": 0, "duplicates": [5, 6], "text_rank": 3, "score": 0.25},
        {"query_id": 2, "chunk_id": 5, "rank": 0},
    ).with_columns(corpus=pl.lit("wiki"))
    found = unify(deduped, chunks, corpora(WIKI))
    check(found, UNIFIED, "unified")
    first, second = found.to_dicts()
    assert (first["query_id"], first["text"], first["corpus_score"]) == (0, "seven", 0.25)
    assert (first["source_label"], first["source_url"]) == ("[wiki: Seven]", None)
    assert (first["version"], first["text_rank"], first["vector_rank"]) == ("2", 3, None)
    assert first["alternate_sources"] == [
        {
            "chunk_id": 5,
            "corpus": "wiki",
            "repo": "o/app",
            "source_label": "[wiki: Five]",
            "source_url": "https://h/5",
        },
        {
            "chunk_id": 6,
            "corpus": "wiki",
            "repo": "",
            "source_label": "[wiki: Six]",
            "source_url": None,
        },
    ]
    assert (second["query_id"], second["source_url"]) == (2, "https://h/5")
    assert second["alternate_sources"] == []


def test_a_row_without_its_chunk_is_left_out(make_chunks: Make, make_deduped: Make) -> None:
    deduped = make_deduped({"chunk_id": 1, "duplicates": [3]}, {"chunk_id": 2})
    found = unify(deduped, make_chunks({"chunk_id": 1}), corpora(CODE))
    assert found.select("chunk_id", "alternate_sources").rows() == [(1, [])]


def test_an_empty_corpus_has_the_common_form_too(make_chunks: Make, make_deduped: Make) -> None:
    found = unify(make_deduped(), make_chunks(), corpora(WIKI))
    check(found, UNIFIED, "unified")
    assert found.is_empty()


def test_a_copy_in_another_repository_says_which(make_chunks: Make, make_deduped: Make) -> None:
    rows = [{"chunk_id": n, "repo": repo} for n, repo in enumerate(("o/app", "o/fork", "", "o/c"))]
    lines = {"path": "src/a.py", "start_line": 1, "end_line": 9}
    chunks = make_chunks(*({**row, **lines} for row in rows))
    deduped = make_deduped({"chunk_id": 0, "duplicates": [1]}, {"chunk_id": 2}, {"chunk_id": 3})
    found = unify(deduped, chunks, corpora({**CODE, "many_repos": True}))
    assert found["source_label"].to_list() == [
        "[code: o/app/src/a.py:1-9]",
        "[code: src/a.py:1-9]",
        "[code: o/c/src/a.py:1-9]",
    ]
    (other,) = found["alternate_sources"][0]
    assert (other["repo"], other["source_label"]) == ("o/fork", "[code: o/fork/src/a.py:1-9]")
    single = unify(deduped[:1], chunks, corpora(CODE))
    (other,) = single["alternate_sources"][0]
    assert (single["source_label"][0], other["source_label"]) == (
        "[code: src/a.py:1-9, in o/app]",
        "[code: src/a.py:1-9, in o/fork]",
    )


def test_passages_of_one_answer_share_no_label_and_its_company_in_a_batch_changes_none(
    make_chunks: Make, make_deduped: Make
) -> None:
    of_wiki = pl.lit("wiki").alias("corpus")
    chunks = make_chunks(*({"chunk_id": n, "title": "T", "ordinal": n} for n in range(3)))
    chunks = chunks.with_columns(of_wiki)
    first = make_deduped({"chunk_id": 0, "duplicates": [2]}, {"chunk_id": 1}).with_columns(of_wiki)
    second = make_deduped({"query_id": 1, "chunk_id": 1}).with_columns(of_wiki)

    def labelled(deduped: pl.DataFrame) -> list[str]:
        found = unify(deduped, chunks, corpora(WIKI))
        others = [one["source_label"] for some in found["alternate_sources"] for one in some]
        return [*found["source_label"], *others]

    assert labelled(first) == [f"[wiki: T, passage {n}]" for n in (1, 2, 3)]
    assert labelled(second) == ["[wiki: T]"]
    assert labelled(pl.concat([first, second])) == [
        *(f"[wiki: T, passage {n}]" for n in (1, 2)),
        "[wiki: T]",
        "[wiki: T, passage 3]",
    ]


def test_each_corpus_has_its_own_labels_and_links(make_chunks: Make, make_deduped: Make) -> None:
    of_wiki = {"corpus": "wiki", "title": "Page", "uri": "https://h/7", "text": "two words"}
    chunks = make_chunks(
        {"chunk_id": 3, "path": "a.py", "text": "two words"},
        {"chunk_id": 7, "path": "b.py", "uri": "https://code/7", "text": "one"},
        {"chunk_id": 5, **of_wiki, "title": "Other"},
        {"chunk_id": 7, **of_wiki},
    )
    deduped = make_deduped(
        {"chunk_id": 7, "duplicates": [3, 5]},
        {"corpus": "wiki", "chunk_id": 7, "duplicates": [5, 3]},
        {"corpus": "wiki", "chunk_id": 3, "rank": 1},
    )
    settings = corpora(CODE, WIKI)
    found = check(unify(deduped, chunks, settings), UNIFIED, "unified")
    assert found["corpus", "chunk_id", "source_label", "source_url", "text"].rows() == [
        ("code", 7, "[code: b.py]", None, "one"),
        ("wiki", 7, "[wiki: Page]", "https://h/7", "two words"),
    ]
    others = [[one["source_label"] for one in some] for some in found["alternate_sources"]]
    assert others == [["[code: a.py]"], ["[wiki: Other]"]]  # a chunk of another corpus is none


def test_passages_of_two_corpora_with_one_label_are_told_apart(
    make_chunks: Make, make_deduped: Make
) -> None:
    both = [{"corpus": corpus, "chunk_id": 1, "title": "Page"} for corpus in ("code", "wiki")]
    deduped = make_deduped(*({"corpus": one["corpus"], "chunk_id": 1} for one in both))
    alike = {"label": "{title}", "many_repos": False}
    settings = corpora(*({**alike, "corpus": one["corpus"]} for one in both))
    labels = unify(deduped, make_chunks(*both), settings)["source_label"].to_list()
    assert len(set(labels)) == 2

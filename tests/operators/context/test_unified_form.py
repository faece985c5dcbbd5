from __future__ import annotations

from collections.abc import Callable

import polars as pl

from operators.context.unified_form import unify
from operators.frames import UNIFIED, check

Make = Callable[..., pl.DataFrame]


def test_a_corpus_takes_the_common_form(make_chunks: Make, make_deduped: Make) -> None:
    chunks = make_chunks(
        {"chunk_id": 5, "title": "Five", "repo": "o/app", "uri": "https://h/5", "text": "five"},
        {"chunk_id": 6, "title": "Six", "text": "six"},
        {"chunk_id": 7, "title": "Seven", "text": "seven", "version": "2"},
    )
    deduped = make_deduped(
        {"chunk_id": 7, "rank": 0, "duplicates": [5, 6], "text_rank": 3, "score": 0.25},
        {"query_id": 2, "chunk_id": 5, "rank": 0},
    )
    found = unify(deduped, chunks, corpus="wiki", label="{title}", link="{uri}")
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
    found = unify(deduped, make_chunks({"chunk_id": 1}), corpus="wiki", label="{title}", link=None)
    assert found.select("chunk_id", "alternate_sources").rows() == [(1, [])]


def test_an_empty_corpus_has_the_common_form_too(make_chunks: Make, make_deduped: Make) -> None:
    found = unify(make_deduped(), make_chunks(), corpus="wiki", label="{title}", link="{uri}")
    check(found, UNIFIED, "unified")
    assert found.is_empty()


def test_a_copy_in_another_repository_says_which(make_chunks: Make, make_deduped: Make) -> None:
    rows = [{"chunk_id": n, "repo": repo} for n, repo in enumerate(("o/app", "o/fork", "", "o/c"))]
    lines = {"path": "src/a.py", "start_line": 1, "end_line": 9}
    chunks = make_chunks(*({**row, **lines} for row in rows))
    deduped = make_deduped({"chunk_id": 0, "duplicates": [1]}, {"chunk_id": 2}, {"chunk_id": 3})
    template = "{path}[[:{start_line}-{end_line}]]"
    found = unify(deduped, chunks, corpus="code", label=template, link=None, many_repos=True)
    assert found["source_label"].to_list() == [
        "[code: o/app/src/a.py:1-9]",
        "[code: src/a.py:1-9]",
        "[code: o/c/src/a.py:1-9]",
    ]
    (other,) = found["alternate_sources"][0]
    assert (other["repo"], other["source_label"]) == ("o/fork", "[code: o/fork/src/a.py:1-9]")
    single = unify(deduped[:1], chunks, corpus="code", label=template, link=None)
    (other,) = single["alternate_sources"][0]
    assert (single["source_label"][0], other["source_label"]) == (
        "[code: src/a.py:1-9, in o/app]",
        "[code: src/a.py:1-9, in o/fork]",
    )


def test_passages_of_one_answer_share_no_label_and_its_company_in_a_batch_changes_none(
    make_chunks: Make, make_deduped: Make
) -> None:
    chunks = make_chunks(*({"chunk_id": n, "title": "T", "ordinal": n} for n in range(3)))
    first = make_deduped({"chunk_id": 0, "duplicates": [2]}, {"chunk_id": 1})
    second = make_deduped({"query_id": 1, "chunk_id": 1})

    def labelled(deduped: pl.DataFrame) -> list[str]:
        found = unify(deduped, chunks, corpus="wiki", label="{title}", link=None)
        others = [one["source_label"] for some in found["alternate_sources"] for one in some]
        return [*found["source_label"], *others]

    assert labelled(first) == [f"[wiki: T, passage {n}]" for n in (1, 2, 3)]
    assert labelled(second) == ["[wiki: T]"]
    assert labelled(pl.concat([first, second])) == [
        *(f"[wiki: T, passage {n}]" for n in (1, 2)),
        "[wiki: T]",
        "[wiki: T, passage 3]",
    ]

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from operators.context.unified_form import unify
from operators.frames import UNIFIED, check

Make = Callable[..., pl.DataFrame]


def test_a_corpus_takes_the_common_form(make_chunks: Make, make_deduped: Make) -> None:
    chunks = make_chunks(
        {"chunk_id": 5, "title": "Five", "uri": "https://h/5", "text": "five"},
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
            "source_label": "[wiki: Five]",
            "source_url": "https://h/5",
        },
        {"chunk_id": 6, "corpus": "wiki", "source_label": "[wiki: Six]", "source_url": None},
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

"""Words that keyword search finds in another form: accents, long names, stop words as names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from operators.postgres.schema.indexes import make_searchable
from operators.postgres.search.text_search import bm25_search
from operators.postgres.store import Store

LONG = "test_a_name_of_more_than_sixty_four_characters_keeps_the_words_that_come_late_as_kazoo"
PAGES = [
    "The office in Zürich opens at nine.",
    "The office in Zurich opens at nine.",
    "Your résumé must be short today.",
    "Your resume must be short today.",
    "IT is on the second floor. HR is on the third.",
    "The Who is played on the night shift.",
    f"def {LONG}(): pass",
    "CREATE TABLE IF NOT EXISTS floors; DO NOT USE",
    "A page that is about what it was, and who will be in it, or not.",
]


@pytest.fixture(scope="module")
def pages(make_store: Callable[..., Store], filling: Any) -> Store:
    store = make_store()
    filling.write(store, [{"chunk_id": n, "text": text} for n, text in enumerate(PAGES)])
    make_searchable(store)
    return store


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("Zürich", [0, 1]),
        ("Zurich", [1, 0]),
        ("résumé", [2, 3]),
        ("resume", [3, 2]),
        ("kazoo", [6]),
        ("IT", [4]),
        ("who is in IT", [4]),
        ("it", []),
        ("The Who", []),
    ],
)
def test_keyword_search_finds_other_forms_and_the_exact_one_first(
    pages: Store, filling: Any, asked: str, found: list[int]
) -> None:
    hits = bm25_search(pages, "code", filling.queries([{"texts": [asked]}]), k=10)
    assert hits["chunk_id"].to_list() == found

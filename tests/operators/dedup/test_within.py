from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.dedup import within
from operators.dedup.similarity_index import index_similarity
from operators.frames import MERGED

Make = Callable[..., pl.DataFrame]

DAY = datetime(2020, 1, 1, tzinfo=UTC)


def test_within_a_corpus_the_later_one_stays_in_its_own_place(
    make_merged: Make, make_chunks: Make
) -> None:
    merged = make_merged(*({"chunk_id": n, "rank": n} for n in range(3)))
    found = make_chunks(
        {"chunk_id": 0, "document_id": "old", "doc_date": DAY, "embedding": [1.0, 0.0]},
        {"chunk_id": 1, "document_id": "other", "doc_date": DAY, "embedding": [0.0, 1.0]},
        {
            "chunk_id": 2,
            "document_id": "new",
            "doc_date": DAY + timedelta(1),
            "embedding": [1.0, 0.0],
        },
    )
    deduped = within.newest(merged, found)
    assert deduped["chunk_id"].to_list() == [1, 2]
    assert deduped["rank"].to_list() == [0, 1]
    assert deduped["duplicates"].to_list() == [[], [0]]
    assert set(MERGED) <= set(deduped.columns)


RULES: dict[str, Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]] = {
    "jaccard": lambda merged, chunks: within.jaccard(
        merged, chunks, index_similarity(chunks), threshold=0.6
    ),
    "guarded": lambda merged, chunks: within.guarded(merged, chunks, index_similarity(chunks)),
    "cosine": within.cosine,
    "newest": within.newest,
    "off": within.off,
}
TEXTS = ["one two three", "one two three four", "three two  one", "five six"]
VECTORS = [[1.0, 0.0], [0.99, 0.1], [0.0, 1.0], [0.0, 0.0]]


def chunk(corpus: str, number: int, text: int = 0, document: int | None = None) -> dict[str, Any]:
    """A chunk, alike in the corpora that hold it."""
    return {
        "corpus": corpus,
        "chunk_id": number,
        "document_id": f"d{number % 3 if document is None else document}",
        "doc_date": DAY + timedelta(number % 2),
        "text": TEXTS[text],
        "embedding": VECTORS[text],
    }


found_in = st.lists(
    st.tuples(st.sampled_from(["code", "review", "wiki"]), st.integers(0, 2), st.integers(0, 9)),
    max_size=25,
    unique=True,
)


@pytest.mark.parametrize("rule", RULES)
@given(found_in, st.lists(st.integers(0, 3), min_size=10, max_size=10), st.permutations(range(25)))
def test_a_corpus_is_deduplicated_alike_alone_and_beside_others(
    make_merged: Make,
    make_chunks: Make,
    rule: str,
    found: list[tuple[str, int, int]],
    texts: list[int],
    order: list[int],
) -> None:
    places: dict[tuple[str, int], int] = {}
    hits = []
    for corpus, query, number in found:
        rank = places[corpus, query] = places.get((corpus, query), -1) + 1
        hits.append({"corpus": corpus, "query_id": query, "chunk_id": number, "rank": rank})
    held = sorted({(corpus, number) for corpus, _, number in found})
    chunks = make_chunks(*(chunk(corpus, number, texts[number]) for corpus, number in held))
    merged = make_merged(*(hits[n] for n in order if n < len(hits)))
    together = RULES[rule](merged, chunks)
    for corpus in ("code", "review", "wiki"):
        alone = RULES[rule](merged.filter(corpus=corpus), chunks.filter(corpus=corpus))
        assert together.filter(corpus=corpus).equals(alone)


@pytest.mark.parametrize("rule", RULES)
def test_a_hit_whose_chunk_is_gone_goes_though_another_corpus_holds_it(
    make_merged: Make, make_chunks: Make, rule: str
) -> None:
    merged = make_merged(
        {"corpus": "code", "chunk_id": 1, "rank": 0},
        {"corpus": "wiki", "chunk_id": 1, "rank": 0},
        {"corpus": "wiki", "chunk_id": 2, "rank": 1},
    )
    chunks = make_chunks(chunk("code", 1), chunk("wiki", 2))
    found = RULES[rule](merged, chunks)["corpus", "chunk_id", "rank", "duplicates"]
    assert found.rows() == [("code", 1, 0, []), ("wiki", 2, 0, [])]

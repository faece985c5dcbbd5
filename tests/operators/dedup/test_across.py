from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import polars as pl

from operators.dedup import across
from operators.dedup.across import of_hits
from operators.dedup.similarity_index import index_similarity, joined
from operators.dedup.token_index import index_tokens, joined_tokens

Make = Callable[..., pl.DataFrame]

DAY = datetime(2020, 1, 1, tzinfo=UTC)
BASE = (
    "The worker retries a failed upload up to 5 times before it gives up and writes the name of "
    "the file to the error log, so that an operator may look at it and start the whole transfer "
    "again by hand when the network is back and the remote side answers as it did before."
)


def test_the_best_ranked_stays_whatever_its_source_and_order_of_rows(make_hits: Make) -> None:
    hits = make_hits(
        {"chunk_id": 1, "corpus": "code", "rank": 1, "text": "same text"},
        {"chunk_id": 2, "corpus": "wiki", "rank": 0, "text": "Same  text"},
    )
    found = across.jaccard(hits)
    assert found["corpus"].to_list() == ["wiki"]
    assert found["alternate_sources"].to_list()[0][0]["chunk_id"] == 1


def test_dropping_duplicates_twice_changes_nothing(make_hits: Make) -> None:
    texts = ["a b c", "A b c", "d", "", " "]
    hits = make_hits(*({"chunk_id": n, "rank": n, "text": t} for n, t in enumerate(texts)))
    once = across.jaccard(hits)
    assert once["chunk_id"].to_list() == [0, 2, 3]
    assert across.jaccard(once).equals(once)


def test_duplicates_of_different_queries_stay(make_hits: Make) -> None:
    hits = make_hits(
        {"query_id": 0, "chunk_id": 1, "rank": 0, "text": "a"},
        {"query_id": 1, "chunk_id": 1, "rank": 0, "text": "a"},
        {"query_id": 1, "chunk_id": 2, "rank": 1, "text": "a"},
    )
    assert across.jaccard(hits).select("query_id", "chunk_id").rows() == [(0, 1), (1, 1)]


def test_across_corpora_the_vectors_come_from_their_chunks(
    make_chunks: Make, make_hits: Make
) -> None:
    chunks = make_chunks(
        {"chunk_id": 1, "embedding": [1.0, 0.0]},
        {"chunk_id": 2, "corpus": "wiki", "embedding": [1.0, 0.01]},
    )
    hits = make_hits(
        {"chunk_id": 2, "corpus": "wiki", "rank": 0, "source_label": "[wiki: b]"},
        {"chunk_id": 1, "rank": 1},
        {"chunk_id": 9, "rank": 2, "document_id": "z"},
    )
    found = across.cosine(hits, chunks)
    assert found["chunk_id"].to_list() == [2, 9]
    assert found["rank"].to_list() == [0, 1]
    assert found["alternate_sources"].to_list()[0][0]["source_label"] == "[code: a]"
    assert across.cosine(hits, chunks.clear()).height == 3


def test_across_corpora_the_later_one_names_the_other(make_hits: Make, make_chunks: Make) -> None:
    hits = make_hits(
        {"chunk_id": 0, "rank": 0, "doc_date": DAY, "source_label": "[wiki: old]"},
        {"chunk_id": 1, "rank": 1, "corpus": "docs", "doc_date": DAY + timedelta(1)},
    )
    vectors = make_chunks(*({"chunk_id": n, "embedding": [1.0, 0.0]} for n in range(2)))
    unique = across.newest(hits, vectors)
    assert unique["chunk_id"].to_list() == [1]
    assert unique["alternate_sources"][0][0]["source_label"] == "[wiki: old]"


def test_guarded_keeps_a_changed_number_across_corpora(make_chunks: Make, make_hits: Make) -> None:
    changed = BASE.replace("5", "50")
    texts = [BASE, changed, BASE.replace("look at", "inspect")]
    chunks = make_chunks(
        *({"chunk_id": n, "text": t, "embedding": [1.0]} for n, t in enumerate(texts))
    )
    hits = make_hits(*({"chunk_id": n, "rank": n, "text": t} for n, t in enumerate(texts)))
    assert across.guarded(hits, index_similarity(chunks))["chunk_id"].to_list() == [0, 1]


def test_what_stays_has_the_best_rank_of_its_group_and_names_the_others(
    make_chunks: Make, make_hits: Make
) -> None:
    texts = ["another thing altogether", BASE, BASE.replace(" ", "\n"), BASE]
    labels = ["[docs: x]", "[docs: a, v3]", "[docs: a, v2]", "[docs: a, v1]"]
    chunks = make_chunks(*({"chunk_id": n, "text": t} for n, t in enumerate(texts)))
    hits = make_hits(
        *(
            {"chunk_id": n, "rank": n, "text": t, "source_label": labels[n]}
            for n, t in enumerate(texts)
        )
    )
    unique = across.guarded(hits, index_similarity(chunks))
    assert unique["source_label"].to_list() == labels[:2]
    others = [other["source_label"] for other in unique["alternate_sources"][1]]
    assert others == labels[2:]


def texts_of(*rows: tuple[int, str]) -> pl.DataFrame:
    schema = {"chunk_id": pl.Int64, "text": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_known_sets_are_used_and_missing_ones_made_once() -> None:
    known = index_tokens(texts_of((1, "one"), (2, "two"), (3, "three")))
    asked = texts_of((3, "?"), (4, "a b"), (1, "?"), (4, "a b"))
    sets, number = of_hits(asked, known, index_tokens, joined_tokens)
    assert number.tolist() == [2, 3, 0, 3]
    assert sets.sizes.tolist() == [1, 1, 1, 2]
    assert of_hits(texts_of((2, "?")), known, index_tokens, joined_tokens)[0] is known


def test_a_hit_without_a_known_chunk_has_an_entry_of_its_text_alone() -> None:
    vectors = pl.Series("embedding", [[1.0], [1.0]], dtype=pl.List(pl.Float32))
    known = index_similarity(texts_of((0, "a"), (1, "old")).with_columns(vectors))
    asked = texts_of((7, "new"), (1, "old"), (7, "new"))
    found, number = of_hits(asked, known, index_similarity, joined)
    assert number.tolist() == [2, 1, 2]
    assert found.text == ["a", "old", "new"]
    assert found.vector.tolist() == [[1], [1], [0]]
    assert found.tokens.begins.tolist() == [0, 1, 2, 3]

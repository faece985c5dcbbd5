from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from operators.dedup import across, within
from operators.dedup.guarded import guards
from operators.dedup.similarity_index import index_similarity

Make = Callable[..., pl.DataFrame]

BASE = (
    "The worker retries a failed upload up to 5 times before it gives up and writes the name of "
    "the file to the error log, so that an operator may look at it and start the whole transfer "
    "again by hand when the network is back and the remote side answers as it did before."
)


def kept(
    make_chunks: Make, make_merged: Make, *texts: str, vector: list[float] | None
) -> list[int]:
    chunks = make_chunks(
        *({"chunk_id": n, "text": t, "embedding": vector} for n, t in enumerate(texts))
    )
    merged = make_merged(*({"chunk_id": n, "rank": n} for n in range(len(texts))))
    return within.guarded(merged, chunks, index_similarity(chunks))["chunk_id"].to_list()


def test_a_rewording_that_says_the_same_goes(make_chunks: Make, make_merged: Make) -> None:
    reworded = BASE.replace("look at", "inspect")
    assert kept(make_chunks, make_merged, BASE, reworded, vector=[1.0]) == [0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("5", "6"),
        ("gives", "not gives"),
        ("may", "must"),
        ("upload", "upload_file"),
        ("error", "errorLog"),
    ],
)
def test_a_changed_number_negation_modal_or_identifier_stays(
    make_chunks: Make, make_merged: Make, old: str, new: str
) -> None:
    changed = BASE.replace(old, new, 1)
    assert kept(make_chunks, make_merged, BASE, changed, vector=[1.0]) == [0, 1]


def test_texts_that_differ_in_white_space_only_go_without_a_vector(
    make_chunks: Make, make_merged: Make
) -> None:
    spaced = BASE.replace(" ", " \n ")
    assert kept(make_chunks, make_merged, BASE, spaced, BASE.upper(), vector=None) == [0, 2]
    assert kept(make_chunks, make_merged, "", " \n", "a", vector=None) == [0, 2]


def test_a_rewording_without_a_vector_stays(make_chunks: Make, make_merged: Make) -> None:
    reworded = BASE.replace("look at", "inspect")
    assert kept(make_chunks, make_merged, BASE, reworded, vector=None) == [0, 1]


def test_swapped_numbers_stay(make_chunks: Make, make_merged: Make) -> None:
    one, two = f"from 1 to 2 {BASE}", f"from 2 to 1 {BASE}"
    assert kept(make_chunks, make_merged, one, two, vector=[1.0]) == [0, 1]


def test_across_corpora_it_holds_too(make_chunks: Make, make_hits: Make) -> None:
    changed = BASE.replace("5", "50")
    texts = [BASE, changed, BASE.replace("look at", "inspect")]
    chunks = make_chunks(
        *({"chunk_id": n, "text": t, "embedding": [1.0]} for n, t in enumerate(texts))
    )
    hits = make_hits(*({"chunk_id": n, "rank": n, "text": t} for n, t in enumerate(texts)))
    assert across.guarded(hits, [index_similarity(chunks)])["chunk_id"].to_list() == [0, 1]


def test_the_survivor_has_the_best_rank_of_its_group_and_names_the_others(
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
    unique = across.guarded(hits, [index_similarity(chunks)])
    assert unique["source_label"].to_list() == labels[:2]
    others = [other["source_label"] for other in unique["alternate_sources"][1]]
    assert others == labels[2:]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It must NOT exceed 30 MB", ("must", "not", "30")),
        ("don't call make_file() or HTTPServer", ("don't", "make_file", "HTTPServer")),
        ("v1.2.3 of src/a.py", ("v1.2.3", "src/a.py")),
        ("Plain Words In Capitals AND ALL", ("all",)),
        ("a -5 b 5", ("-5", "5")),
        ("x <= 3", ("<=", "3")),
    ],
)
def test_the_words_that_guard(text: str, found: tuple[str, ...]) -> None:
    assert guards(text) == found


@pytest.mark.parametrize("vector", [None, [1.0, 0.5]])
def test_a_long_list_loses_the_same_copies_as_a_short_one(
    make_chunks: Make,
    make_merged: Make,
    monkeypatch: pytest.MonkeyPatch,
    vector: list[float] | None,
) -> None:
    texts = [f"{BASE} {BASE.replace('5', str(n // 3))}" for n in range(60)]
    texts[::3] = [text.replace("look at", "inspect") for text in texts[::3]]
    texts[1::9] = [text.replace(" ", "  ") for text in texts[1::9]]
    short = kept(make_chunks, make_merged, *texts, vector=vector)
    monkeypatch.setattr("operators.dedup.guarded._OF_TEXT", 0)
    monkeypatch.setattr("operators.dedup.guarded._OF_ROW", 0)
    assert kept(make_chunks, make_merged, *texts, vector=vector) == short
    assert 1 < len(short) < 60

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.arrays.segments import Floats
from operators.dedup import within
from operators.dedup.cosine import unit_vectors
from operators.dedup.guarded import guarded_representatives, guards
from operators.dedup.similarity_index import SimilarityIndex, index_similarity
from operators.dedup.token_index import index_tokens

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


@st.composite
def near_duplicates(draw: st.DrawFn) -> list[str]:
    """Texts that differ from one another in a few words, spaces or letters."""
    words = ["limit", "must", "not", "30", "31", "max_size", "a", "file", "is", "Read"]
    base = draw(st.lists(st.lists(st.sampled_from(words), max_size=12), min_size=1, max_size=2))
    texts = []
    for _ in range(draw(st.integers(1, 24))):
        chosen = list(draw(st.sampled_from(base)))
        if chosen and draw(st.booleans()):
            chosen[draw(st.integers(0, len(chosen) - 1))] = draw(st.sampled_from(words))
        texts.append(draw(st.sampled_from([" ", "  "])).join(chosen))
    return texts


def as_all_pairs(
    texts: list[str],
    units: Floats,
    query: list[int],
    number: list[int],
    jaccard_least: float,
    cosine_least: float,
) -> None:
    """Assert that the duplicates go which a comparison of all pairs finds."""

    def duplicates(one: int, two: int) -> bool:
        first, second = texts[one].lower().split(), texts[two].lower().split()
        both = {*first, *second}
        common = len({*first} & {*second}) / len(both) if both else 1.0
        return texts[one].split() == texts[two].split() or (
            units[one] @ units[two] >= cosine_least
            and common >= jaccard_least
            and guards(texts[one]) == guards(texts[two])
        )

    expected: list[int] = []
    for row in range(len(number)):
        stay = [n for n in range(row) if expected[n] == n and query[n] == query[row]]
        found = (n for n in stay if duplicates(number[n], number[row]))
        expected.append(next(found, row))
    tokens = index_tokens(pl.DataFrame({"text": texts}))
    found = guarded_representatives(
        np.array(query),
        np.array(number),
        SimilarityIndex(np.arange(len(texts)), units, tokens),
        jaccard_threshold=jaccard_least,
        cosine_threshold=cosine_least,
    )
    assert found.tolist() == expected


@given(near_duplicates(), st.data(), st.sampled_from([0.5, 0.9]), st.sampled_from([0.6, 0.951]))
def test_the_same_duplicates_go_as_by_comparing_all_pairs(
    texts: list[str], data: st.DataObject, jaccard_least: float, cosine_least: float
) -> None:
    many = {"min_size": len(texts), "max_size": len(texts)}
    some_vectors = [None, [1.0, 0.0], [1.0, 0.3], [1.0, 0.34], [1.0, 1.0], [0.0, 0.0]]
    chosen = data.draw(st.lists(st.sampled_from(some_vectors), **many), label="vectors")
    query = sorted(data.draw(st.lists(st.integers(0, 1), **many), label="queries"))
    number = data.draw(st.permutations(range(len(texts))), label="numbers")
    units = unit_vectors(pl.Series(chosen, dtype=pl.List(pl.Float32)))
    as_all_pairs(texts, units, query, number, jaccard_least, cosine_least)


def test_many_near_duplicates_cost_no_comparison_of_all_pairs() -> None:
    words, letters = [f"{one}{two}" for one in "abcde" for two in "fghijklmno"], "pqrstuvwxy"
    texts = [
        " ".join([*words, one + two + three])
        for one in letters
        for two in letters
        for three in letters
    ]
    index = index_similarity(
        pl.DataFrame({"chunk_id": range(1000), "text": texts, "embedding": [[1.0, 0.0]] * 1000})
    )
    began = time.process_time()
    for start in (0, 100):  # whatever stands first stays
        number = np.roll(np.arange(1000), start)
        found = guarded_representatives(np.zeros(1000, np.uint32), number, index, 0.9, 0.95)
        assert (found == 0).all()
    assert time.process_time() - began < 1.5  # .15; all pairs take 6
    found = guarded_representatives(
        np.arange(1000) // 400, np.arange(1000), index, jaccard_threshold=0.9, cosine_threshold=0.95
    )
    assert set(found.tolist()) == {0, 400, 800}

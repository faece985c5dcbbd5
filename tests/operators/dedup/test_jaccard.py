"""Token dedup against all pairs of Python sets."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from operators.dedup.jaccard import jaccard_representatives
from operators.dedup.token_index import TokenIndex, hash_sets

thresholds = st.sampled_from([0.05, 0.3, 0.5, 0.75, 0.8, 0.9, 0.95, 1.0])
vocabulary = [f"w{n}" for n in range(30)]


@st.composite
def near_duplicates(draw: st.DrawFn) -> list[str]:
    """Texts of which many differ from another in a few words."""
    base = draw(
        st.lists(st.lists(st.sampled_from(vocabulary), max_size=25), min_size=1, max_size=3)
    )
    texts = []
    for _ in range(draw(st.integers(0, 14))):
        words = list(draw(st.sampled_from(base)))
        for _ in range(draw(st.integers(0, 2))):
            if words:
                place = draw(st.integers(0, len(words) - 1))
                words[place : place + 1] = draw(
                    st.lists(st.sampled_from([*vocabulary, "É", "new"]), max_size=2)
                )
        text = " ".join(words)
        texts.append(text.upper() if draw(st.booleans()) else text)
    return texts


def all_pairs(texts: list[str], threshold: float) -> list[int]:
    """The rule said plainly: a text belongs to the first kept one that is like it."""
    sets = [set(text.lower().split()) for text in texts]
    kept: list[int] = []
    representative = []
    for number, one in enumerate(sets):
        for other in kept:
            both = one | sets[other]
            index = len(one & sets[other]) / len(both) if both else 1.0
            if index >= threshold:
                representative.append(other)
                break
        else:
            kept.append(number)
            representative.append(number)
    return representative


def representatives_of(
    texts: list[str], threshold: float, queries: list[int] | None = None
) -> list[int]:
    begins, tokens = hash_sets(texts)
    sets = TokenIndex(np.arange(len(texts)), begins, tokens)
    query_id = np.array(queries if queries is not None else [0] * len(texts), np.uint32)
    return jaccard_representatives(
        query_id, np.arange(len(texts)), sets, threshold=threshold
    ).tolist()


@given(near_duplicates(), thresholds)
def test_the_same_duplicates_go_as_by_comparing_all_pairs(
    texts: list[str], threshold: float
) -> None:
    assert representatives_of(texts, threshold) == all_pairs(texts, threshold)


@given(st.lists(near_duplicates(), max_size=4), thresholds)
def test_a_batch_gives_what_its_queries_give_alone(
    queries: list[list[str]], threshold: float
) -> None:
    together = representatives_of(
        [text for texts in queries for text in texts],
        threshold,
        [number for number, texts in enumerate(queries) for _ in texts],
    )
    alone, first = [], 0
    for texts in queries:
        alone += [first + row for row in representatives_of(texts, threshold)]
        first += len(texts)
    assert together == alone

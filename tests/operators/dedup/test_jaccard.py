"""Token dedup against all pairs of Python sets."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from representatives import representatives

from operators.dedup.jaccard import jaccard_representatives
from operators.dedup.token_index import index_tokens, token_sketches

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

    def index(one: int, other: int) -> float:
        both = sets[one] | sets[other]
        return len(sets[one] & sets[other]) / len(both) if both else 1.0

    return representatives(len(sets), lambda one, other: index(one, other) >= threshold)


@given(near_duplicates(), thresholds, st.integers(0, 14))
def test_the_same_duplicates_go_as_by_comparing_all_pairs_whatever_sketches_are_stored(
    texts: list[str], threshold: float, stored: int
) -> None:
    every, query_id = np.arange(len(texts)), np.zeros(len(texts), np.uint32)
    sketches = [*token_sketches(texts[:stored]), *[None] * len(texts[stored:])]
    chunks = {"text": texts, "token_sketch": sketches}
    sets = index_tokens(pl.DataFrame(chunks, schema_overrides={"token_sketch": pl.Binary}))
    found = jaccard_representatives(query_id, every, sets, threshold=threshold)
    assert found.tolist() == all_pairs(texts, threshold)

"""Hashed token sets against Python's own."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from operators.dedup.token_index import hash_sets, token_sketches

words = st.sampled_from(
    ["a", "A", "b", "\x00", "ß", "É", "é", "İ", "ΑΣ", "x" * 8, "y" * 16, "z" * 17, "w" * 255, "👩"]
)
spaces = st.sampled_from(
    [" ", "  ", "\n", "\t", "\x1c", "\x85", "\xa0", "\u2003", "\u3000", "\r\n"]
)
texts = st.one_of(
    st.text(),
    st.lists(st.tuples(words, spaces), max_size=12).map(lambda p: "".join(w + s for w, s in p)),
)


@given(st.lists(st.none() | texts, max_size=6))
@example(["x" * 300 + " " + "x" * 299, "X" * 300])
@example(["\u200b", " ", "", None])
def test_sets_of_hashes_are_the_sets_of_tokens(many: list[str | None]) -> None:
    begins, hashes = hash_sets(many)
    sets = [set((text or "").lower().split()) for text in many]
    assert np.diff(begins).tolist() == [len(one) for one in sets]
    found = [set(hashes[a:b].tolist()) for a, b in pairwise(begins)]
    for one, hashed in zip(sets, found, strict=True):
        for other, other_hashed in zip(sets, found, strict=True):
            assert len(one & other) == len(hashed & other_hashed)


def test_a_stored_sketch_is_that_of_every_release() -> None:
    (sketch,) = token_sketches(["A token sets a bit, a longer_token_than_eight another"])
    bits = "0000000000000020000000800000000010000000008000010020000000000000"
    assert sketch.hex() == bits + "06000000"

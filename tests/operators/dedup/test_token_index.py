"""Hashed token sets against Python's own."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

from operators.dedup.token_index import TokenIndex, hash_sets, index_tokens

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


def test_a_texts_tokens_do_not_depend_on_its_company() -> None:
    some = [f"word{n} other{n % 7} tail" for n in range(300)]
    begins, hashes = hash_sets(some)
    for number in (0, 127, 128, 299):
        _, alone = hash_sets([some[number]])
        assert hashes[begins[number] : begins[number + 1]].tolist() == alone.tolist()


def test_tokens_are_distinct_and_ascending() -> None:
    _, hashes = hash_sets(["b a b c a " * 50])
    assert len(hashes) == 3
    assert (hashes[1:] > hashes[:-1]).all()


def frame(*rows: tuple[int, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"chunk_id": pl.Int64, "text": pl.String}, orient="row")


def test_no_text_has_no_set() -> None:
    sets = index_tokens(frame())
    assert isinstance(sets, TokenIndex)
    assert sets.sizes.tolist() == []

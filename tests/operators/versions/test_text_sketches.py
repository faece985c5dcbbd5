from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.versions.text_sketches import SIZE, alike, likely, sketch

WORDS = st.lists(st.sampled_from([f"w{n}" for n in range(30)]), max_size=60).map(" ".join)


@given(WORDS)
def test_a_text_with_words_is_like_itself(text: str) -> None:
    assert alike(sketch(text), sketch(text)) == (1.0 if text else 0.0)


@given(WORDS, WORDS)
def test_likeness_has_no_direction(one: str, two: str) -> None:
    assert alike(sketch(one), sketch(two)) == alike(sketch(two), sketch(one))


@given(WORDS, WORDS)
def test_short_texts_are_compared_exactly(one: str, two: str) -> None:
    pairs = [set(zip(t.split(), t.split()[1:], strict=False)) for t in (one, two)]
    if min(map(len, pairs)) > 0:
        exact = len(pairs[0] & pairs[1]) / len(pairs[0] | pairs[1])
        assert alike(sketch(one), sketch(two)) == pytest.approx(exact)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9])
def test_the_likeness_of_long_texts_is_estimated(share: float) -> None:
    chance = random.Random(7)
    words = [f"x{n}" for n in range(4000)]
    chance.shuffle(words)
    common = round(3000 * 2 * share / (1 + share) / 2) * 1
    one = " ".join(words[:2000])
    kept = round(2000 * 2 * share / (1 + share))
    two = " ".join(words[:kept] + words[2000 : 2000 + 2000 - kept])
    assert common >= 0
    assert abs(alike(sketch(one), sketch(two)) - share) < 0.15


def test_a_sketch_is_bounded() -> None:
    hashes = sketch(" ".join(f"word{n}" for n in range(10_000)))
    assert len(hashes) == SIZE
    assert (np.diff(hashes.astype(np.int64)) > 0).all()


def test_likely_pairs_are_those_that_share_something_rare() -> None:
    texts = [f"alpha{n} beta{n} gamma{n}" for n in range(5)]
    found = likely([sketch(t) for t in texts], [sketch(t) for t in reversed(texts)])
    assert found == [(n, 4 - n) for n in range(5)]

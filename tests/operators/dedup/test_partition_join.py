from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from operators.dedup.partition_join import parts_of, ranges
from operators.dedup.token_index import TokenIndex, hash_sets

sets_of_tokens = st.lists(st.sets(st.integers(0, 40), max_size=30), min_size=2, max_size=8)


@given(sets_of_tokens, st.sampled_from([0.3, 0.75, 0.9, 1.0]))
def test_sets_of_the_index_share_a_part(tokens: list[set[int]], threshold: float) -> None:
    texts = [" ".join(f"w{token}" for token in one) for one in tokens]
    sets = TokenIndex(np.arange(len(texts)), *hash_sets(texts))
    parts = parts_of(sets, threshold)
    keys = [
        set(parts.keys[begin:end].tolist())
        for begin, end in zip(parts.begins[:-1], parts.begins[1:], strict=True)
    ]
    for one, first in enumerate(tokens):
        for two, second in enumerate(tokens):
            if first | second and len(first & second) / len(first | second) >= threshold:
                assert keys[one] & keys[two]
            assert (parts.whole[one] == parts.whole[two]) == (first == second)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=6))
def test_ranges_are_those_of_python(some: list[tuple[int, int]]) -> None:
    begins = np.array([begin for begin, _ in some], np.int64)
    counts = np.array([count for _, count in some], np.int64)
    expected = [n for begin, count in some for n in range(begin, begin + count)]
    assert ranges(begins, counts).tolist() == expected

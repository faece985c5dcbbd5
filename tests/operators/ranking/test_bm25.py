from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from operators.foundation import tokenizer
from operators.ranking import bm25


def test_of_too_many_terms_the_most_frequent_are_kept() -> None:
    words = " ".join(f"w{n}x" for n in range(bm25.MAX_TERMS))
    counted = bm25.term_counts(words + " kept kept")
    assert len(counted.terms) == bm25.MAX_TERMS
    assert 2 in counted.counts


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 40)), min_size=1, max_size=8))
def test_a_term_is_prominent_where_its_weight_reaches_the_bound(
    rows: list[tuple[int, int]],
) -> None:
    counts = np.array([count for count, _ in rows])
    for length in {length for _, length in rows}:
        counted = bm25.TermCounts(np.arange(1, len(rows) + 1), counts, length * 10)
        weights = bm25.weights(counts, length * 10).tolist()
        heavy = [-term for term, w in enumerate(weights, 1) if w >= bm25.PROMINENT]
        assert bm25.index_keys(counted) == [*range(1, len(rows) + 1), *heavy]


def test_of_a_very_long_query_the_rarest_terms_are_kept() -> None:
    many = dict.fromkeys(range(1, 5000), 1)
    df = {term: term for term in many}
    kept = bm25.query_terms(many, df, 10_000, cap=5_000, k=50).weights
    assert set(kept) == set(range(1, bm25.MAX_QUERY_TERMS + 1))


def test_a_word_of_the_title_counts_three_times() -> None:
    both = bm25.term_counts(bm25.analysed_text("cache", None, "", "cache disk disk", "", None))
    counted = dict(zip(both.terms.tolist(), both.counts.tolist(), strict=True))
    assert counted == {tokenizer.term_id("cach"): 4, tokenizer.term_id("disk"): 2}
    assert both.length == 6

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from operators.foundation import tokenizer
from operators.ranking import bm25


def test_terms_ascend_and_are_counted() -> None:
    counted = bm25.term_counts("cache flush cache makeFile")
    assert counted.terms.tolist() == sorted(counted.terms.tolist())
    assert sorted(counted.counts.tolist()) == [1, 1, 1, 1, 2]
    assert counted.length == 6, "cache, flush, cache, make, file, makefile"


def test_an_empty_text_has_no_terms() -> None:
    counted = bm25.term_counts("  \n")
    assert (counted.terms.tolist(), counted.counts.tolist(), counted.length) == ([], [], 0)


def test_of_too_many_terms_the_most_frequent_are_kept() -> None:
    words = " ".join(f"w{n}x" for n in range(bm25.MAX_TERMS))
    counted = bm25.term_counts(words + " kept kept")
    assert len(counted.terms) == bm25.MAX_TERMS
    assert 2 in counted.counts


def test_a_weight_follows_the_formula() -> None:
    found = bm25.weights(np.array([3]), 170)
    assert math.isclose(found[0], 3 / (3 + 2 * (0.25 + 0.75 * 2)), rel_tol=1e-6)


def test_where_all_terms_stay_within_the_cap_each_selects_alone() -> None:
    counts, df = {1: 1, 2: 1, 3: 1, 4: 1}, {1: 40, 2: 30, -2: 5, 3: 70, 4: 0}
    query = bm25.query_terms(counts, df, 1000, cap=140, k=5)
    assert (query.alone, query.pairs) == ([2, 1, 3], ((), ()))
    assert set(query.weights) == {1, 2, 3}, "all known terms score"


def test_candidates_are_taken_by_the_most_informative_terms_within_the_cap() -> None:
    counts, df = {1: 1, 2: 1, 3: 1, 4: 1}, {1: 900, 2: 40, 3: 70, 4: 0}
    query = bm25.query_terms(counts, df, 1000, cap=110, k=5)
    assert query.alone == [2, 3]
    assert set(query.weights) == {1, 2, 3}


def test_a_common_term_selects_the_chunks_where_it_is_prominent() -> None:
    df = {1: 40, -1: 10, 2: 5_000, -2: 60}
    query = bm25.query_terms({1: 1, 2: 1}, df, 10_000, cap=110, k=5)
    assert query.alone == [-1, 1, -2]
    assert set(query.weights) == {1, 2}


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


def test_the_rarest_term_is_taken_whatever_it_costs() -> None:
    assert bm25.query_terms({1: 1}, {1: 900}, 1000, cap=10, k=5).alone == [1]


def test_terms_are_added_beyond_the_cap_while_they_cannot_fill_the_list() -> None:
    assert bm25.query_terms({1: 1, 2: 1}, {1: 3, 2: 900}, 1000, cap=10, k=5).alone == [1, 2]


def test_a_repeated_query_term_counts_as_often() -> None:
    once = bm25.query_terms({7: 1}, {7: 3}, 100, cap=10, k=5).weights[7]
    assert bm25.query_terms({7: 3}, {7: 3}, 100, cap=10, k=5).weights[7] == 3 * once


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


def test_terms_that_find_too_much_alone_find_chunks_in_pairs() -> None:
    df = {1: 10, **dict.fromkeys(range(2, 9), 300), 9: 9_000}
    query = bm25.query_terms(dict.fromkeys(df, 1), df, 10_000, cap=400, k=5)
    assert query.alone == [1]
    assert query.pairs == ([2, 4, 6, 8], [3, 5, 7])
    assert query.weights.keys() == df.keys()


def test_of_a_term_that_is_paired_its_prominent_places_are_not() -> None:
    df = {1: 10, **dict.fromkeys(range(2, 6), 300), **dict.fromkeys(range(-5, -1), 290), 9: 9_000}
    query = bm25.query_terms({term: 1 for term in df if term > 0}, df, 10_000, cap=400, k=5)
    assert sorted([*query.pairs[0], *query.pairs[1]]) == [2, 3, 4, 5]


def test_a_repeated_term_may_stand_before_a_rarer_one() -> None:
    df = {1: 100, 2: 110, 3: 500, 4: 500, 5: 500}
    query = bm25.query_terms({1: 1, 2: 3, 3: 1, 4: 1, 5: 1}, df, 10_000, cap=300, k=5)
    assert query.alone == [2, 1]
    assert query.pairs == ([3, 5], [4])


def test_where_too_few_terms_are_left_to_pair_the_most_informative_select_all() -> None:
    df = {1: 10, 2: 100, 3: 9_000}
    query = bm25.query_terms(dict.fromkeys(df, 1), df, 10_000, cap=400, k=5)
    assert (query.alone, query.pairs) == ([1, 2], ((), ()))

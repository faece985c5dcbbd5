"""Labelled pairs: what says the same is collapsed, what only looks alike is not."""

from __future__ import annotations

import polars as pl
import pytest

from benchmarks.neardup import MUST_NOT, TEXT_RULES, joined, pairs_file, read_pairs


@pytest.fixture(scope="module")
def pairs() -> pl.DataFrame:
    if not pairs_file().exists():
        pytest.skip("the judged set neardup is not on this machine")
    found = read_pairs()
    # Every cosine is taken as high enough, so that no model can do worse.
    return found.with_columns(joined(found, TEXT_RULES["guarded"]))


def test_versions_with_equal_text_are_collapsed(pairs: pl.DataFrame) -> None:
    equal = pairs.filter(pl.col("relation") == "same_page_other_version, equal")
    assert len(equal) > 100
    assert equal["joined"].mean() >= 0.95  # type: ignore[operator]


@pytest.mark.parametrize("relation", MUST_NOT)
def test_what_only_looks_alike_is_not_joined(pairs: pl.DataFrame, relation: str) -> None:
    some = pairs.filter(pl.col("relation").str.starts_with(relation))
    assert len(some) > 0
    assert not some["joined"].any()


def test_of_versions_with_a_changed_word_few_are_joined(pairs: pl.DataFrame) -> None:
    revised = pairs.filter(pl.col("relation") == "same_page_other_version")
    assert revised["joined"].mean() < 0.2  # type: ignore[operator]

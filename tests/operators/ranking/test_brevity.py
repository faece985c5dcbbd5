import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.ranking.brevity import brevity


def factors(*texts: str, full_length_words: float = 16) -> list[float]:
    return brevity(pl.Series(texts, dtype=pl.String), full_length_words=full_length_words).to_list()


def test_the_fewer_words_a_passage_has_the_less_it_counts_down_to_something() -> None:
    found = factors("", "fix", "fix it", "fix the cache again", "word " * 16, "word " * 999)
    assert found == sorted(found)
    assert found[0] > 0.5
    assert found[-2:] == [1.0, 1.0]


@pytest.mark.parametrize("text", ["Fix the cache", "Bump a", "", "修正 缓存"])
@given(paths=st.lists(st.text("abc/._\u00e9", min_size=1), max_size=200))
def test_the_paths_of_a_commit_make_it_no_longer(text: str, paths: list[str]) -> None:
    assert factors("\n".join([text, "", "Files:", *paths])) == factors(text)


def test_without_a_length_every_passage_counts_in_full() -> None:
    assert factors("", "fix", full_length_words=0) == [1.0, 1.0]


@pytest.mark.parametrize("full", [10, 14, 20, 49])
def test_a_passage_counts_the_same_to_the_last_bit_with_others_and_by_itself(full: int) -> None:
    texts = ["word " * n for n in range(1, full)]
    each = [factor for text in texts for factor in factors(text, full_length_words=full)]
    assert factors(*texts, full_length_words=full) == each

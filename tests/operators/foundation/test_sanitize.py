from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from operators.foundation.sanitize import REPLACEMENT, clean_frame, clean_text, replaced_characters


@given(st.text(alphabet=st.characters()))
def test_cleaned_text_is_utf8_without_nul_and_as_long(text: str) -> None:
    cleaned = clean_text(text)
    assert b"\0" not in cleaned.encode()
    assert len(cleaned) == len(text)


def test_lone_surrogates_become_the_replacement_character() -> None:
    assert clean_text("a\ud800b\x00c🙂") == f"a{REPLACEMENT}b{REPLACEMENT}c🙂"


def test_a_frame_tells_how_many_characters_were_replaced() -> None:
    frame = pl.DataFrame({"a": ["x\0y\0", None, "z"], "n": [1, 2, 3], "b": ["\0", "q", None]})
    cleaned, replaced = clean_frame(frame)
    assert replaced == 3
    assert cleaned["a"].to_list() == [f"x{REPLACEMENT}y{REPLACEMENT}", None, "z"]
    assert frame["b"][0] == "\0", "the input is not changed"


def test_what_is_replaced_is_counted() -> None:
    before = replaced_characters()
    clean_text("a\x00b\ud800")
    clean_text("clean")
    assert replaced_characters() - before == 2

"""A word is found with and without its accents."""

from __future__ import annotations

import time
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.foundation.accents import without_accents
from operators.foundation.tokenizer import MAX_NAME_LENGTH, compatible, tokens, vocabulary, words

PAIRS = [
    ("Zürich", "Zurich"),
    ("Łódź", "LODZ"),
    ("Straße", "strasse"),
    ("Diyarbakır", "DIYARBAKIR"),
    ("Λόγος", "ΛΟΓΟΣ"),
    ("שָׁלוֹם", "שלום"),
    ("كِتَاب", "كتاب"),
    ("makeGröße", "make_grosse"),
]


@pytest.mark.parametrize(("accented", "plain"), PAIRS)
def test_a_word_finds_its_other_form_with_or_without_accents(accented: str, plain: str) -> None:
    for form in ("NFC", "NFD"):
        assert vocabulary(normalize(form, accented)) & vocabulary(plain)


@pytest.mark.parametrize(
    ("accented", "plain"), [pair for pair in PAIRS if pair[0] not in ("Straße", "makeGröße")]
)
def test_the_exact_word_shares_more_terms_than_its_other_form(accented: str, plain: str) -> None:
    asked = vocabulary(accented)
    assert len(asked & vocabulary(plain)) < len(asked)
    assert len(tokens(plain)) <= len(tokens(accented)), "a text with the plain word is no longer"


@pytest.mark.parametrize(
    ("one", "other"), [("мой", "мои"), ("їжа", "іжа"), ("कि", "क"), ("が", "か")]
)
def test_a_letter_of_its_own_is_not_taken_for_another_one(one: str, other: str) -> None:
    assert not vocabulary(one) & vocabulary(other)


def test_every_letter_of_european_languages_has_a_plain_form() -> None:
    letters = map(chr, [*range(0xC0, 0x180), *range(0x218, 0x21C), *range(0x1EA0, 0x1EFA)])
    forms = [without_accents(compatible(one)) for one in letters if one.isalpha()]
    assert [one for one in forms if not one.strip("ʼ·").isascii()] == []


@given(st.text())
def test_the_terms_of_a_text_contain_those_of_its_plain_words(text: str) -> None:
    for word in words(text):
        assert vocabulary(without_accents(word)) <= vocabulary(word)


def test_a_word_of_accents_is_read_at_once() -> None:
    began = time.process_time()
    found = tokens("é" * 500_000) + tokens("e\u0301" * 500_000)
    assert time.process_time() - began < 5
    assert max(map(len, found)) <= MAX_NAME_LENGTH

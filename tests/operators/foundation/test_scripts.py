"""Words of every script, names with signs, operators and hashes."""

from __future__ import annotations

import time
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.foundation.tokenizer import compatible, tokens, vocabulary


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("Redis", "我们使用Redis缓存用户会话"),
        ("备份数据库", "发布之前必须先备份数据库，然后停止消费者"),
        ("ユーザー削除", "管理者だけがユーザーを削除できます"),
        ("백업", "백업은 S3버킷에 저장됩니다"),
        ("สำรอง", "ระบบจะสำรองฐานข้อมูลทุกคืน"),
        ("ﾕｰｻﾞｰ", "ユーザー"),
        ("up\xadper", "upper case"),
        (normalize("NFD", "café"), normalize("NFC", "café")),
    ],
)
def test_a_word_finds_a_text_of_any_script_that_has_it(asked: str, text: str) -> None:
    assert vocabulary(asked) & vocabulary(text)


@pytest.mark.parametrize("name", ["C++", "C#", "F#", ".NET"])
def test_the_name_of_a_language_keeps_its_signs(name: str) -> None:
    assert tokens(f"written in {name}, mostly") == ["written", name.lower(), "most"]


def test_names_that_differ_in_their_signs_share_no_term() -> None:
    assert not vocabulary("C") & vocabulary("C++") | vocabulary("C++") & vocabulary("C#")
    assert vocabulary("C++17") >= vocabulary("C++")
    assert tokens("note#1 x.net") == ["note", "1", "x", "net"]


@pytest.mark.parametrize("operator", ["??", "<=>", "!=="])
def test_an_operator_is_a_term_in_every_spelling_of_code(operator: str) -> None:
    assert operator in tokens(f"x {operator} y")
    assert operator in tokens(f"x{operator}y")
    assert tokens(operator) == [operator]


def test_a_ruler_of_signs_is_no_operator() -> None:
    assert tokens("---- ==== ....") == []


@given(st.text())
def test_a_text_has_the_terms_of_each_of_its_unicode_forms(text: str) -> None:
    forms = [normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    assert all(tokens(compatible(form)) == tokens(compatible(text)) for form in forms)


@pytest.mark.parametrize(
    "text", ["語" * 500_000, "語a" * 250_000, "+" * 500_000, "a\u0301" * 250_000]
)
def test_a_hostile_run_of_letters_is_read_at_once(text: str) -> None:
    began = time.process_time()
    tokens(text)
    assert time.process_time() - began < 5

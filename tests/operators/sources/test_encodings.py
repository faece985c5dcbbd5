from __future__ import annotations

import random
import time

import pytest

from operators.sources.encodings import decode_file
from operators.sources.files import Skipped

JAPANESE = "// 請求書の消費税を端数切り捨てで計算する\nint roundTax(int amount);\n"
CHINESE = "// 计算订单的折扣金额并写入数据库\nint applyDiscount(int t);\n"
TRADITIONAL = "// 請先備份資料庫再升級\nint backup(void);\n"
KOREAN = "// 사용자의 로그인 시도 횟수를 제한한다\nclass Login { int limit; }\n"
RUSSIAN = "// Проверяет подпись входящего платежа\nint check(void);\n"
POLISH = "// Sprawdza ważność żądania łącza\nint check(void);\n"
GERMAN = "rem überprüft die Größe\r\n"
FRENCH = "// vérifie la clé déjà chargée à l’entrée\n"
ARABIC = "// يتحقق من توقيع الدفعة الواردة\n"
THAI = "// ตรวจสอบลายเซ็นการชำระเงิน\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (JAPANESE, "cp932"), (JAPANESE, "euc_jp"), (CHINESE, "gbk"), (TRADITIONAL, "big5"),
        (KOREAN, "cp949"), (RUSSIAN, "koi8-r"), (RUSSIAN, "cp1251"), (RUSSIAN, "cp866"),
        (POLISH, "iso-8859-2"), (GERMAN, "cp437"), (GERMAN, "cp850"), (FRENCH, "cp1252"),
        (ARABIC, "cp1256"), (THAI, "tis-620"), ("café\n", "latin-1"),
    ],
)  # fmt: skip
def test_an_undeclared_encoding_is_guessed_and_the_guess_is_told(text: str, encoding: str) -> None:
    found = decode_file(text.encode(encoding))
    assert found.text == text
    assert found.note == (
        f"read as {found.encoding} by a guess: declare its encoding if that is wrong"
    )


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32-be"])
def test_a_mark_says_the_encoding_without_a_guess(encoding: str) -> None:
    data = JAPANESE.encode(encoding)
    mark = b"\0\0\xfe\xff" if encoding == "utf-32-be" else b""
    found = decode_file(mark + data)
    assert (found.text, found.note) == (JAPANESE, None)


@pytest.mark.parametrize(
    ("name", "text", "encoding"),
    [
        ("a.py", f"# -*- coding: koi8-r -*-\n{RUSSIAN}", "koi8-r"),
        ("a.xml", '<?xml version="1.0" encoding="GB2312"?>\n<a>备份</a>\n', "gbk"),
        ("a.html", '<html><meta charset="big5"><p>請先備份</p>', "big5"),
        ("a.php", "<meta http-equiv=Content-Type content='text/html; charset=x-sjis'>税", "cp932"),
    ],
)
def test_an_encoding_that_a_file_declares_itself_is_obeyed(
    name: str, text: str, encoding: str
) -> None:
    found = decode_file(text.encode(encoding), name)
    assert (found.text, found.note) == (text, None)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (RUSSIAN.encode() + RUSSIAN.encode("cp1251"), "no other encoding is certain"),
        (random.Random(1).randbytes(4000).replace(b"\0", b""), "no other encoding is certain"),
        ("// 税\nint a;\n".encode("cp932"), "convert it or declare its encoding"),
        (b"a\0b", "binary"),
        (b"\xff\xfea", "its byte-order mark says utf-16-le, but it has other bytes"),
        (b"# coding: gbk\n# \x80\xff\n", "the declared encoding is gb18030, but it has other"),
    ],
)
def test_what_no_encoding_reads_with_confidence_is_left_out_with_the_reason(
    data: bytes, why: str
) -> None:
    with pytest.raises(Skipped, match=why):
        decode_file(data, "a.py")


@pytest.mark.parametrize(
    "text",
    [JAPANESE, f"# coding: koi8-r\n{RUSSIAN}", "<meta charset=big5>é", "\ufffd"],
)
def test_utf_8_stays_as_it_is_whatever_it_declares(text: str) -> None:
    assert decode_file(text.encode(), "a.html") == (text, None, None)


def test_a_damaged_place_in_utf_8_is_marked_and_told() -> None:
    found = decode_file("é and ".encode() + b"\xff")
    assert found.text == "é and \ufffd"
    assert found.note == "damaged: what is no UTF-8 in it became U+FFFD"
    cut = (CHINESE * 9).encode()
    assert decode_file(cut[: cut.rindex("库".encode()) + 2]).text.endswith("数据\ufffd")


@pytest.mark.parametrize("name", ["unicode_escape", "utf-7", "zlib", "no-such"])
def test_what_is_no_character_set_is_no_declaration(name: str) -> None:
    data = f"# coding: {name}\n{RUSSIAN}".encode("cp1251")
    assert decode_file(data).encoding == "cp1251"


def test_a_hostile_file_costs_no_more_than_its_length() -> None:
    began = time.process_time()
    for data in (
        b"\xe4\n" * 500_000,
        b"<meta " * 170_000 + b"\xff",
        b"\xa4\xc4" * 500_000,
    ):
        try:
            decode_file(data, "a.html")
        except Skipped:
            continue
    assert time.process_time() - began < 20

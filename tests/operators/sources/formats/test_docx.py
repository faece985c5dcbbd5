import contextlib
import io
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from word_files import BODY, W, paragraph, word

from operators.sources.formats import docx
from operators.sources.formats.docx import read_docx

CORE = (
    '<c xmlns:dcterms="http://purl.org/dc/terms/"><dcterms:created>2020-01-02T03:04:05Z'
    "</dcterms:created><dcterms:modified>2021-05-06T00:00:00Z</dcterms:modified></c>"
)


def test_paragraphs_headings_breaks_and_dates_are_read() -> None:
    runs = "<w:p><w:r><w:t>one</w:t><w:br/><w:t>two</w:t><w:tab/><w:t>three</w:t></w:r></w:p>"
    table = f"<w:tbl><w:tr><w:tc>{paragraph('cell')}</w:tc></w:tr></w:tbl>"
    body = paragraph("Guide", "Title") + paragraph("Setup", "Heading2") + paragraph("") + runs
    found = read_docx(word(BODY.format(body + table), **{"docProps/core.xml": CORE}))
    assert found.text == "# Guide\n\n## Setup\n\none\ntwo\tthree\n\ncell"
    assert found.title == "Guide"
    assert found.dates == ("2020-01-02T03:04:05Z", "2021-05-06T00:00:00Z")


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "&a;" * 10}">' for n in range(9)
)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04 cut",
        b"no zip at all",
        word("<w:p>"),
        word(BODY.format("<w:p>" * 100_000)),
        word(BOMB + "]>" + f'<w:document xmlns:w="{W}">&a8;</w:document>')[:-30],
    ],
    ids=["empty", "cut", "text", "no XML", "nested", "torn"],
)
def test_what_is_damaged_or_hostile_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"docx|XML"):
        read_docx(data)


def test_entities_are_not_expanded_and_files_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    entities = f'<!ENTITY e SYSTEM "file://{tmp_path}/secret"><!ENTITY i "{"x" * 99}">'
    document = f'<w:document xmlns:w="{W}">{paragraph("a&e;&i;b")}</w:document>'
    text = read_docx(word(f"<!DOCTYPE x [{entities}]>{document}")).text
    assert text.startswith("a")
    assert "SECRET" not in text
    assert "xx" not in text


def test_a_part_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docx, "MAX_XML", 1000)
    with pytest.raises(ValueError, match="unpacks to more than"):
        read_docx(word(BODY.format(paragraph("a" * 5000))))


MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"


def test_each_text_of_nested_paragraphs_and_of_a_text_box_comes_once() -> None:
    box = f"<w:txbxContent>{paragraph('in the box')}</w:txbxContent>"
    other = f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    both = f'<mc:AlternateContent xmlns:mc="{MC}">{other}</mc:AlternateContent>'
    body = f"<w:p>{both}<w:r><w:t>around it</w:t></w:r></w:p>{paragraph('after')}"
    assert read_docx(word(BODY.format(body))).text == "in the box\n\naround it\n\nafter"


def test_text_in_many_nested_paragraphs_is_not_multiplied() -> None:
    body = "<w:p>" * 240 + f"<w:t>{'a' * 100_000}</w:t>" + "</w:p>" * 240
    assert len(read_docx(word(BODY.format(body))).text) == 100_000


@pytest.mark.parametrize(
    "style", ["Heading0", "Heading7", "Heading12", "Heading123456", "Heading", "Heading1 ", "1"]
)
def test_a_heading_has_a_level_from_1_to_6(style: str) -> None:
    assert read_docx(word(BODY.format(paragraph("a", style)))).text == "a"
    assert read_docx(word(BODY.format(paragraph("a", "Heading6")))).text == "###### a"


def test_a_style_that_a_tracked_change_replaced_makes_no_heading() -> None:
    before = '<w:pPrChange><w:pPr><w:pStyle w:val="Heading1"/></w:pPr></w:pPrChange>'
    body = f"<w:p><w:pPr>{before}</w:pPr><w:r><w:t>a</w:t></w:r></w:p>"
    assert read_docx(word(BODY.format(body))).text == "a"


ONE = word(BODY.format(paragraph("text")))
MEMBER, END = ONE.index(b"PK\x01\x02"), ONE.index(b"PK\x05\x06")


def packed(method: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("word/document.xml", " " * 3_000_000)
    return file.getvalue()


def patched(at: int, new: bytes) -> bytes:
    return ONE[:at] + new + ONE[at + len(new) :]


HOSTILE = {
    "packed by bzip2": packed(zipfile.ZIP_BZIP2),
    "packed by LZMA": packed(zipfile.ZIP_LZMA),
    "deep": word(BODY.format("<w:p>" * 300 + "</w:p>" * 300)),
    "deep elsewhere": word("<a>" * 1_000_000),
    "encrypted": patched(MEMBER + 8, b"\1"),
    "unknown method": patched(MEMBER + 10, b"\x63"),
    "wrong checksum": patched(MEMBER + 16, b"\0\0\0\0"),
    "size says less": patched(MEMBER + 24, b"\x05\0\0\0"),
    "offset beyond the end": patched(MEMBER + 42, b"\xff\xff\xff\x7f"),
    "ZIP64 as offset": patched(MEMBER + 42, b"\xff" * 4),
    "directory beyond the end": patched(END + 16, b"\xff\xff\xff\x7f"),
    "more entries than there are": patched(END + 12, b"\xff\xff\xff\x7f"),
    "damaged data": patched(50, b"\xff" * 20),
    "cut": ONE[: len(ONE) // 2],
    "a ZIP in a ZIP": word("", **{"word/document.xml/word.docx": ONE.hex()}),
    "another path": ONE.replace(b"word/document.xml", b"../../../etc/pass"),
    "null in the name": ONE.replace(b"word/document.xml", b"word/document\0xml"),
    "UTF-7": word('<?xml version="1.0" encoding="utf-7"?><a/>'),
    "not UTF-8": word("<a>").replace(b"<a>", b"<\xff>"),
    "attribute of entities": word(BOMB + ']><a b="&a8;&a8;"/>'),
}

LYING = {
    "size says more": patched(MEMBER + 24, b"\xff\xff\xff\x7f"),
    "packed size says more": patched(MEMBER + 20, b"\xff\xff\xff\x7f"),
    "ZIP64 without its fields": patched(MEMBER + 20, b"\xff" * 8),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_archive_is_refused_in_one_line(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a readable .docx: .") as refused:
        read_docx(data)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("data", LYING.values(), ids=LYING)
def test_a_size_that_the_directory_invents_changes_nothing(data: bytes) -> None:
    assert read_docx(data).text == "text"


def test_of_two_parts_with_one_name_the_last_counts_as_in_other_zip_readers() -> None:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        warnings.simplefilter("ignore")
        for text in ("first", "last"):
            archive.writestr("word/document.xml", BODY.format(paragraph(text)))
    assert read_docx(file.getvalue()).text == "last"


@given(st.integers(0, len(ONE) - 1), st.binary(min_size=1, max_size=4))
def test_whatever_byte_is_damaged_there_is_a_text_or_a_refusal(at: int, new: bytes) -> None:
    with contextlib.suppress(ValueError):
        read_docx(patched(at, new))

"""Word documents that are damaged or attack their reader."""

from __future__ import annotations

import io
import warnings
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from word_files import BODY, W, paragraph, part, word

from operators.sources.formats import docx
from operators.sources.formats.docx import read_docx
from operators.sources.formats.word import package, process
from operators.sources.sandbox import Passing, Sandbox

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


def test_a_document_type_is_refused_so_that_no_entity_reads_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    entities = f'<!ENTITY e SYSTEM "file://{tmp_path}/secret"><!ENTITY i "{"x" * 99}">'
    document = f'<w:document xmlns:w="{W}">{paragraph("a&e;&i;b")}</w:document>'
    with pytest.raises(ValueError, match="its XML has a document type"):
        read_docx(word(f"<!DOCTYPE x [{entities}]>{document}"))


def test_parts_that_unpack_to_too_much_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "MAX_XML", 4000)
    several = {f"word/header{number}.xml": part("hdr", paragraph("a" * 900)) for number in range(4)}
    for data in (word(BODY.format(paragraph("a" * 5000))), word(BODY.format(""), **several)):
        assert "unpacks to more than 4000 bytes" in process.answer(data)["failed"]


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
    assert process.answer(patched(at, new)).keys() & {"text", "failed"}


def test_a_document_that_takes_too_long_is_refused_and_the_next_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = Sandbox(
        "operators.sources.formats.word.process:answer",
        memory_bytes=1 << 30, cpu_s=0, wall_s=60.0, requests_a_child=9,
    )  # fmt: skip
    monkeypatch.setattr(docx, "SANDBOX", slow)
    with closing(slow):
        with pytest.raises(ValueError, match=r"not a readable .docx: stopped: it took more than"):
            read_docx(word(BODY.format("<w:p/>" * 2_000_000)))
        assert read_docx(ONE).text == "text"


def test_a_reader_that_something_kills_is_not_the_fault_of_the_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def killed(_: bytes) -> None:
        raise Passing("its reader was killed")

    monkeypatch.setattr(docx.SANDBOX, "ask", killed)
    with pytest.raises(ChildProcessError, match="its reader was killed"):
        read_docx(ONE)


@pytest.mark.parametrize("style", ["Heading1", None])
def test_a_note_to_which_many_places_refer_comes_once(style: str | None) -> None:
    refer = '<w:r><w:footnoteReference w:id="1"/></w:r>' * 50_000
    note = f'<w:footnote w:id="1">{paragraph("n" * 10_000, style)}</w:footnote>'
    data = word(
        BODY.format(f"<w:p>{refer}</w:p>"), **{"word/footnotes.xml": part("footnotes", note)}
    )
    assert read_docx(data).text == "n" * 10_000


def test_a_word_file_with_a_password_says_so() -> None:
    with pytest.raises(ValueError, match="it has a password or is a"):
        read_docx(b"\xd0\xcf\x11\xe0" + b"\0" * 600)

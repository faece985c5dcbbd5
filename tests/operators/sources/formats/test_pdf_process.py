"""What the process that reads PDFs makes of hostile and damaged files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from operators.sources.formats.pdf import (
    PdfReader,
    PdfRefused,
)

MakePdf = Callable[..., bytes]


@pytest.fixture
def reader() -> Iterator[PdfReader]:
    with closing(PdfReader()) as reader:
        yield reader


def refusal(reader: PdfReader, data: bytes) -> PdfRefused:
    with pytest.raises(PdfRefused) as caught:
        reader.read(data)
    return caught.value


def test_every_page_is_read_in_order(reader: PdfReader, make_pdf: MakePdf) -> None:
    found = reader.read(make_pdf(["First page", "Second page"], info={"Title": "Guide"}))
    assert [page.strip() for page in found.pages] == ["First page", "Second page"]
    assert (found.info["Title"], found.unread) == ("Guide", [])


def test_what_pdfium_refuses_it_reads_after_a_repair(reader: PdfReader, make_pdf: MakePdf) -> None:
    made = make_pdf(["One", "Two"], outline=[("Two", 1)], info={"Title": "T"})
    found = reader.read(made[: made.index(b"xref")])
    assert [page.strip() for page in found.pages] == ["One", "Two"]
    assert found.outline == [(1, "Two", 1)]


def test_a_page_that_pdfium_cannot_read_is_read_after_a_repair(
    reader: PdfReader, make_pdf: MakePdf
) -> None:
    made = make_pdf(["One", "Two"], info={"CreationDate": "D:2020"})
    found = reader.read(made.replace(b"/Kids[", b"/Kids[99 0 R "))
    assert [page.strip() for page in found.pages] == ["One", "Two"]
    assert (found.info, found.unread) == ({"CreationDate": "D:2020"}, [])


def test_a_page_that_no_repair_brings_back_is_told(reader: PdfReader, make_pdf: MakePdf) -> None:
    made = make_pdf(["One", "Two"]).replace(b"/Kids[4 0 R", b"/Kids[99 0 R")
    found = reader.read(made)
    assert ([page.strip() for page in found.pages], found.unread) == (["", "Two"], [1])


def test_a_damaged_file_without_text_is_not_taken_for_a_scan(
    reader: PdfReader, make_pdf: MakePdf
) -> None:
    made = make_pdf([""])
    refused = refusal(reader, made[: made.index(b"xref")])
    assert refused.state == "failed"
    assert str(refused).startswith("damaged: ")
    assert "Nor does what is left of it have any text" in str(refused)


def _with(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda made: made.replace(old, new)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "header alone": lambda made: made[:9],
    "nulls": lambda made: made[:9] + bytes(1_000_000),
    "a page tree that is its own child": _with(b"/Kids[4 0 R", b"/Kids[2 0 R"),
    "a catalog as page": _with(b"/Kids[4 0 R", b"/Kids[1 0 R"),
    "its pages are a page": _with(b"/Pages 2 0 R", b"/Pages 4 0 R"),
    "no pages": _with(b"/Pages 2 0 R", b""),
    "two thousand million pages": _with(b"/Count 2", b"/Count 2147483647"),
    "less than no pages": _with(b"/Count 2", b"/Count -1"),
    "a number of 6,000 digits": _with(b"/Count 2", b"/Count " + b"9" * 6000),
    "nested arrays": _with(b"/Count 2", b"/Count 2/X " + b"[" * 100_000),
    "nested dictionaries": _with(b"/Count 2", b"/Count 2/X " + b"<</X" * 100_000),
    "a name of a megabyte": _with(b"/Count 2", b"/Count 2/" + b"N" * 1_000_000),
    "a string without an end": _with(b"/Count 2", b"/Count 2/X (" + b"(" * 9999),
    "a stream longer than the file": _with(b"/Length ", b"/Length 99999999"),
    "a stream of less than nothing": _with(b"/Length ", b"/Length -"),
    "a filter nobody knows": _with(b"/Length ", b"/Filter/Nope/Length "),
    "what is not packed is unpacked": _with(b"/Length ", b"/Filter/FlateDecode/Length "),
    "a hundred filters": _with(b"/Length ", b"/Filter[" + b"/A85 " * 100 + b"]/Length "),
    "a script": _with(b"/Type/Catalog", b"/Type/Catalog/OpenAction<</S/JavaScript/JS(while(1);)>>"),
    "a launch": _with(b"/Type/Catalog", b"/Type/Catalog/OpenAction<</S/Launch/F(/bin/sh)>>"),
    "an earlier table that is this one": _with(b"/Root", b"/Prev 9/Root"),
    "a ZIP before it": lambda made: b"PK\x03\x04" + made,
    "no table": lambda made: made[: made.index(b"\nxref\n")],
    "twice": lambda made: made + made,
    "an object that is itself": _with(b"3 0 obj\n<<", b"3 0 obj\n3 0 R <<"),
    "fonts within fonts": _with(b"/BaseFont/", b"/Encoding 3 0 R/DescendantFonts[3 0 R]/BaseFont/"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_hostile_structure_gives_a_text_or_a_reason_and_the_next_file_is_read(
    reader: PdfReader, make_pdf: MakePdf, damage: Callable[[bytes], bytes]
) -> None:
    made = make_pdf(["One", "Two"])
    hostile = damage(made)
    assert hostile != made
    try:
        said = "".join(reader.read(hostile).pages)
    except PdfRefused as refused:
        said = f"Two: {refused}"
    assert "One" in said or "Two" in said
    assert "\n" not in said.strip()
    assert reader.read(made).pages[0].strip() == "One"

"""What the process that reads PDFs makes of hostile and damaged files."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from operators.sources.formats.pdf import (
    PdfReader,
    PdfRefused,
)

MakePdf = Callable[..., bytes]


@pytest.fixture
def reader() -> Iterator[PdfReader]:
    with PdfReader() as reader:
        yield reader


def refusal(reader: PdfReader, data: bytes) -> PdfRefused:
    with pytest.raises(PdfRefused) as caught:
        reader.read(data)
    return caught.value


def test_every_page_is_read_in_order(reader: PdfReader, make_pdf: MakePdf) -> None:
    found = reader.read(make_pdf(["First page", "Second page"], info={"Title": "Guide"}))
    assert [page.strip() for page in found.pages] == ["First page", "Second page"]
    assert (found.info["Title"], found.repaired, found.unread) == ("Guide", False, [])


def test_what_pdfium_refuses_it_reads_after_a_repair(reader: PdfReader, make_pdf: MakePdf) -> None:
    made = make_pdf(["One", "Two"], outline=[("Two", 1)], info={"Title": "T"})
    found = reader.read(made[: made.index(b"xref")])
    assert ([page.strip() for page in found.pages], found.repaired) == (["One", "Two"], True)
    assert found.outline == [(1, "Two", 1)]


def test_a_page_that_pdfium_cannot_read_is_read_after_a_repair(
    reader: PdfReader, make_pdf: MakePdf
) -> None:
    made = make_pdf(["One", "Two"], info={"CreationDate": "D:2020"})
    found = reader.read(made.replace(b"/Kids[", b"/Kids[99 0 R "))
    assert ([page.strip() for page in found.pages], found.repaired) == (["One", "Two"], True)
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

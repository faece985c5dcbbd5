""""""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pypdfium2
import pytest

from operators.sources.formats.headings import headings
from operators.sources.formats.pdf import (
    PAGE_BREAK,
    PdfLimits,
    PdfReader,
    PdfRefused,
    PdfText,
    pdf_text,
    pdf_title,
)

MakePdf = Callable[..., bytes]


_DATA = Path(os.environ.get("CROSSCORPUS_TEST_DATA", Path(__file__).parents[5] / "shared/data"))


HOSTILE = _DATA / "hostile"


needs_hostile = pytest.mark.skipif(
    not (HOSTILE / "deep_q.pdf").exists(), reason="no hostile files: set CROSSCORPUS_TEST_DATA"
)


@pytest.fixture
def reader() -> Iterator[PdfReader]:
    with closing(PdfReader()) as reader:
        yield reader


def refusal(reader: PdfReader, data: bytes) -> PdfRefused:
    with pytest.raises(PdfRefused) as caught:
        reader.read(data)
    return caught.value


def test_an_empty_file_is_refused_without_a_child(reader: PdfReader) -> None:  # H20
    assert str(refusal(reader, b"")) == "empty file"
    assert not any("pdf_process" in " ".join(c.cmdline()) for c in psutil.Process().children())


def test_html_under_a_pdfs_name_is_no_pdf(reader: PdfReader) -> None:  # H19
    refused = refusal(reader, b"<html><script>alert(1)</script></html>")
    assert (refused.state, "not a PDF" in str(refused)) == ("failed", True)


def test_a_scanned_pdf_has_no_text(reader: PdfReader) -> None:  # H22
    document = pypdfium2.PdfDocument.new()
    page = document.new_page(200, 200)
    image = pypdfium2.PdfImage.new(document)
    image.set_bitmap(pypdfium2.PdfBitmap.new_native(10, 10, 4))
    page.insert_obj(image)
    page.gen_content()
    out = io.BytesIO()
    document.save(out)
    refused = refusal(reader, out.getvalue())
    assert (refused.state, str(refused)) == (
        "no_text",
        "no_text: its page has no text: scanned?",
    )


def test_a_pdf_with_a_password_is_encrypted(reader: PdfReader, make_pdf: MakePdf) -> None:  # H23
    refused = refusal(reader, make_pdf(["secret"], password=b"pw"))
    assert (refused.state, str(refused)) == ("encrypted", "encrypted: it asks for a password")


def test_a_scheme_that_nobody_knows_is_encrypted_too(reader: PdfReader, make_pdf: MakePdf) -> None:
    data = make_pdf(["a"]).replace(b"/Root", b"/Encrypt<</Filter/Foo/V 9/R 9>>/Root")
    assert refusal(reader, data).state == "encrypted"


def test_a_damaged_file_is_refused_with_a_reason(reader: PdfReader) -> None:
    refused = refusal(reader, b"%PDF-1.7\n" + b"garbage " * 100)
    assert (refused.state, str(refused).startswith("damaged")) == ("failed", True)


@needs_hostile
@pytest.mark.parametrize(
    ("name", "state", "reason"),
    [
        ("bomb_spaces_1GB.pdf", "failed", "stopped: "),  # H13
        ("bomb_text_200MB.pdf", "failed", "stopped: "),  # H14
        ("deep_q.pdf", "no_text", "no_text: "),  # H16
        ("loop_pages.pdf", "failed", "damaged: "),  # H17
        ("html_as.pdf", "failed", "not a PDF"),  # H19
        ("empty.pdf", "failed", "empty file"),  # H20
    ],
)
@pytest.mark.timeout(120)
def test_a_hostile_file_is_refused_and_the_next_one_read(
    reader: PdfReader, make_pdf: MakePdf, name: str, state: str, reason: str
) -> None:
    refused = refusal(reader, (HOSTILE / name).read_bytes())
    assert (refused.state, str(refused).startswith(reason)) == (state, True)
    assert reader.read(make_pdf(["after it"])).pages[0].strip() == "after it"


def test_a_page_and_a_document_with_too_much_text_are_refused(make_pdf: MakePdf) -> None:  # H14
    with closing(PdfReader(PdfLimits(page_characters=50))) as reader:
        assert "page 2 has more than 50 characters" in str(
            refusal(reader, make_pdf(["short", "word " * 30]))
        )
    with closing(PdfReader(PdfLimits(characters=50))) as reader:
        assert "more than 50 characters" in str(refusal(reader, make_pdf(["word " * 9] * 2)))
    with closing(PdfReader(PdfLimits(pages=1))) as reader:
        assert "more than 1 pages" in str(refusal(reader, make_pdf(["a", "b"])))


def test_bookmarks_become_headings_on_their_page(reader: PdfReader, make_pdf: MakePdf) -> None:
    data = make_pdf(
        ["Contents\nSetup\nUse", "1 Setup\nInstall it.", "1.1 Use\nRun it."],
        outline=[("Setup", 1), ("Use", 2), ("Missing", 2)],
    )
    text = pdf_text(reader.read(data))
    assert [h.text for h in headings(text, "a.pdf")] == ["1 Setup", "1.1 Use"]
    assert text.split("\n").count(PAGE_BREAK) == 2


def test_a_line_that_looks_like_a_heading_is_none() -> None:
    made = pdf_text(PdfText(["# not one\n\n## nor this", "# c"], {}, [], []))
    assert headings(made, "a.pdf") == []
    assert "# not one" in made


def test_a_word_that_a_line_end_broke_is_whole_again_and_a_name_keeps_its_hyphen() -> None:
    made = pdf_text(PdfText(["docu\x02mentation SPARK\x0243 US\ufffe\r\nASCII"], {}, [], []))
    assert made == "documentation SPARK-43 US-ASCII\n"


def test_a_page_cannot_forge_a_page_break() -> None:
    assert pdf_text(PdfText(["a\n\f\nb"], {}, [], [])).count(PAGE_BREAK) == 0


def test_a_title_that_a_program_filled_in_is_none() -> None:
    def title(given: str) -> str | None:
        return pdf_title(PdfText([], {"Title": given}, [], []))

    assert title(" The  Guide ") == "The Guide"
    assert [title(t) for t in ("", "untitled", "Microsoft Word - x.docx", "a.tex")] == [None] * 4

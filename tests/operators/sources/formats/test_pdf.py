from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

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


def test_one_child_reads_many_files(reader: PdfReader, make_pdf: MakePdf) -> None:
    reader.read(make_pdf(["a"]))
    first = reader.pid
    reader.read(make_pdf(["b"]))
    assert reader.pid == first is not None


def test_the_child_has_none_of_the_programs_environment(
    reader: PdfReader, make_pdf: MakePdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSCORPUS_DSN", "postgresql://u:secret@h/d")
    reader.read(make_pdf(["a"]))
    environment = Path(f"/proc/{reader.pid}/environ")
    if not environment.exists():
        pytest.skip("no /proc")
    assert b"secret" not in environment.read_bytes()


def test_an_empty_file_is_refused_without_a_child(reader: PdfReader) -> None:  # H20
    assert str(refusal(reader, b"")) == "empty file"
    assert reader.pid is None


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


def test_a_file_that_takes_too_long_is_stopped(make_pdf: MakePdf) -> None:
    with PdfReader(PdfLimits(wall_s=0.001)) as reader:
        assert str(refusal(reader, make_pdf(["slow"]))) == "stopped: it took more than 0.001 s"
        reader.wall_s = 60
        assert reader.read(make_pdf(["next"])).pages


@needs_hostile
@pytest.mark.timeout(120)
def test_a_file_that_takes_too_much_of_the_processor_is_stopped() -> None:
    if sys.platform == "win32":
        pytest.skip("no limit of CPU there")
    with PdfReader(PdfLimits(cpu_s=0, memory_bytes=4 << 30)) as reader:
        refused = refusal(reader, (HOSTILE / "bomb_text_200MB.pdf").read_bytes())
    assert str(refused) == "stopped: it took more than 0 s of CPU"


def test_a_page_and_a_document_with_too_much_text_are_refused(make_pdf: MakePdf) -> None:  # H14
    with PdfReader(PdfLimits(page_characters=50)) as reader:
        assert "page 2 has more than 50 characters" in str(
            refusal(reader, make_pdf(["short", "word " * 30]))
        )
    with PdfReader(PdfLimits(characters=50)) as reader:
        assert "more than 50 characters" in str(refusal(reader, make_pdf(["word " * 9] * 2)))
    with PdfReader(PdfLimits(pages=1)) as reader:
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

"""PDFs and the processes that read them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from killed_children import parsing_children
from pdf_maker import make_bomb, make_pdf

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
from operators.sources.sandbox import Passing, Sandbox, Stopped


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


def test_a_scheme_that_nobody_knows_is_encrypted_too(reader: PdfReader) -> None:
    data = make_pdf(["a"]).replace(b"/Root", b"/Encrypt<</Filter/Foo/V 9/R 9>>/Root")
    assert refusal(reader, data).state == "encrypted"


def test_a_page_and_a_document_with_too_much_text_are_refused() -> None:  # H14
    with closing(PdfReader(PdfLimits(page_characters=50))) as reader:
        assert "page 2 has more than 50 characters" in str(
            refusal(reader, make_pdf(["short", "word " * 30]))
        )
    with closing(PdfReader(PdfLimits(characters=50))) as reader:
        assert "more than 50 characters" in str(refusal(reader, make_pdf(["word " * 9] * 2)))
    with closing(PdfReader(PdfLimits(pages=1))) as reader:
        assert "more than 1 pages" in str(refusal(reader, make_pdf(["a", "b"])))


def test_bookmarks_become_headings_on_their_page(reader: PdfReader) -> None:
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


def test_a_page_that_cannot_be_read_is_told(reader: PdfReader) -> None:
    made = make_pdf(["One", "Two"]).replace(b"/Kids[4 0 R", b"/Kids[99 0 R")
    found = reader.read(made)
    assert ([page.strip() for page in found.pages], found.unread) == (["", "Two"], [1])


def test_a_damaged_file_without_text_is_not_taken_for_a_scan(reader: PdfReader) -> None:
    made = make_pdf([""])
    refused = refusal(reader, made[: made.index(b"xref")])
    assert refused.state == "failed"
    assert str(refused).startswith("damaged: ")
    assert "`qpdf IN OUT` mends" in str(refused)


def _with(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda made: made.replace(old, new)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "header alone": lambda made: made[:9],
    "a page tree that is its own child": _with(b"/Kids[4 0 R", b"/Kids[2 0 R"),
    "its pages are a page": _with(b"/Pages 2 0 R", b"/Pages 4 0 R"),
    "two thousand million pages": _with(b"/Count 2", b"/Count 2147483647"),
    "a number of 6,000 digits": _with(b"/Count 2", b"/Count " + b"9" * 6000),
    "nested arrays": _with(b"/Count 2", b"/Count 2/X " + b"[" * 100_000),
    "a stream longer than the file": _with(b"/Length ", b"/Length 99999999"),
    "a hundred filters": _with(b"/Length ", b"/Filter[" + b"/A85 " * 100 + b"]/Length "),
    "a script": _with(b"/Type/Catalog", b"/Type/Catalog/OpenAction<</S/JavaScript/JS(while(1);)>>"),
    "an earlier table that is this one": _with(b"/Root", b"/Prev 9/Root"),
    "no table": lambda made: made[: made.index(b"\nxref\n")],
    "an object that is itself": _with(b"3 0 obj\n<<", b"3 0 obj\n3 0 R <<"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_hostile_structure_gives_a_text_or_a_reason_and_the_next_file_is_read(
    reader: PdfReader, damage: Callable[[bytes], bytes]
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


def children() -> list[int]:
    """The processes that read PDFs for this one."""
    return [one.pid for one in parsing_children("pdf_process")]


def test_the_child_has_none_of_the_programs_environment(
    reader: PdfReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSCORPUS_DSN", "postgresql://u:secret@h/d")
    reader.read(make_pdf(["a"]))
    environment = Path(f"/proc/{children()[0]}/environ")
    if not environment.exists():
        pytest.skip("no /proc")
    assert b"secret" not in environment.read_bytes()


def test_the_child_finds_packages_wherever_its_parent_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of ``pip install --user`` or ``--target``, which an isolated Python does not look at."""
    (tmp_path / "elsewhere.py").write_text("def answer(data):\n    return data.decode().upper()\n")
    monkeypatch.syspath_prepend(tmp_path)
    own = Sandbox(
        "elsewhere:answer", memory_bytes=1 << 30, cpu_s=5, wall_s=30.0, requests_a_child=9
    )
    with closing(own):
        assert own.ask(b"found") == "FOUND"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    """A child that notes each request in the file ``asked`` and then does what it says."""
    (tmp_path / "obedient.py").write_text(
        "import os, pathlib\n"
        "asked = pathlib.Path(__file__).with_name('asked')\n"
        "def answer(data):\n"
        "    with asked.open('ab') as file: file.write(b'x')\n"
        "    return eval(data.decode())\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    limits: dict[str, int] = {"memory_bytes": 1 << 30, "cpu_s": 2, "requests_a_child": 9}
    with closing(Sandbox("obedient:answer", **limits, wall_s=30.0)) as sandbox:
        yield sandbox


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_child_that_is_killed_at_work_has_a_second_one_and_the_reason_is_true(
    own: Sandbox, tmp_path: Path, how: signal.Signals
) -> None:
    with pytest.raises(Passing, match=rf"killed \(signal {how.value}\): see whether"):
        own.ask(b"os.kill(os.getpid(), %d)" % how)
    assert (tmp_path / "asked").read_bytes() == b"xx"
    assert own.ask(b"1 + 1") == 2


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (b"os.abort()", f"ended ({-signal.SIGABRT}), most likely at the limit of 1024 MiB"),
        (b"bytearray(4 << 30)", "ended (1), most likely at the limit of 1024 MiB"),
        (b"[0 for _ in iter(int, 1) if False]", "it took more than 2 s of CPU"),
    ],
    ids=["crash", "memory", "processor"],
)
def test_a_crash_or_a_limit_is_the_requests_own_and_has_no_second_child(
    own: Sandbox, tmp_path: Path, request_: bytes, reason: str
) -> None:
    with pytest.raises(Stopped) as stopped:
        own.ask(request_)
    assert reason in str(stopped.value)
    assert type(stopped.value) is Stopped
    assert (tmp_path / "asked").read_bytes() == b"x"


def test_a_child_that_is_killed_while_nobody_asks_it_costs_no_file(reader: PdfReader) -> None:
    reader.read(make_pdf(["a"]))
    [child] = children()
    os.kill(child, signal.SIGKILL)
    assert "b" in reader.read(make_pdf(["b"])).pages[0]


def test_a_reader_that_does_not_start_is_no_fault_of_the_file(
    reader: PdfReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    refused = refusal(reader, make_pdf(["a"]))
    assert refused.passing
    assert str(refused).startswith("its reader does not start (No such file or directory)")


def test_a_file_that_takes_too_long_is_stopped() -> None:
    with closing(PdfReader(PdfLimits(wall_s=0.001))) as reader:
        assert str(refusal(reader, make_pdf(["slow"]))) == "stopped: it took more than 0.001 s"
        reader.wall_s = 60
        assert reader.read(make_pdf(["next"])).pages


@pytest.mark.timeout(120)
def test_a_file_that_takes_too_much_of_the_processor_is_stopped() -> None:
    if sys.platform == "win32":
        pytest.skip("no limit of CPU there")
    bomb = make_bomb(b"BT /F 12 Tf 50 700 Td (lorem) Tj ET\n" * 30_000, 190)
    with closing(PdfReader(PdfLimits(cpu_s=0, memory_bytes=4 << 30))) as reader:
        refused = refusal(reader, bomb)
    assert str(refused) == "stopped: it took more than 0 s of CPU"

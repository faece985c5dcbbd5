"""What is read of Office documents, EPUB, RTF and LaTeX; pandoc is a real process."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from word_files import BODY, W, archive, paragraph, part, relations, word

from operators.sources.formats import pandoc
from operators.sources.formats.headings import headings
from operators.sources.formats.languages import CONVERTED
from operators.sources.formats.pandoc import converted, program
from operators.sources.sandbox import Passing, Sandbox

BY = 'w:author="Ann" w:date="2020-01-01T00:00:00Z"'


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def text_of(content: str, **parts: str) -> str:
    return converted(word(BODY.format(content), **parts), "docx").text


def row(*cells: str) -> str:
    return f"<w:tr>{''.join(f'<w:tc>{cell}</w:tc>' for cell in cells)}</w:tr>"


def test_headings_of_any_language_are_headings_of_markdown() -> None:
    body = paragraph("Guide", "Title") + paragraph("Setup", "berschrift1") + paragraph("text")
    assert text_of(body) == "# Guide\n\n# Setup\n\ntext"


def test_a_row_of_a_table_is_a_line() -> None:
    rows = row(paragraph("Port"), paragraph("Owner"))
    rows += row(paragraph("7") + paragraph("8"), paragraph("L " * 99))
    *_, first, last = text_of(f"<w:tbl>{rows}</w:tbl>{paragraph('y')}").split("\n")[:-2]
    assert first == "| Port | Owner |"
    assert last == f"| 7 8 | {'L ' * 99}|"


def test_a_table_for_the_layout_of_a_page_keeps_headings_and_tables() -> None:
    inner = f"<w:tbl>{row(paragraph('a'), paragraph('b'))}</w:tbl>{paragraph('')}"
    cell = paragraph("Left", "Heading1") + paragraph("text") + inner
    found = text_of(f"<w:tbl>{row(cell, paragraph('right'))}</w:tbl>")
    assert [line for line in found.split("\n") if any(map(str.isalnum, line))] == [
        "# Left", "text", "| a   | b   |", "right"
    ]  # fmt: skip


def test_tracked_changes_count_as_accepted_and_a_note_follows_its_paragraph() -> None:
    changed = (
        f'{run("in ")}<w:del w:id="1" {BY}><w:r><w:delText>30</w:delText></w:r></w:del>'
        f'<w:ins w:id="2" {BY}>{run("14")}</w:ins>{run(" days")}'
    )
    note = '<w:r><w:footnoteReference w:id="1"/></w:r>'
    notes = part("footnotes", f'<w:footnote w:id="1">{paragraph("Bees.")}</w:footnote>')
    found = text_of(f"<w:p>{changed}{note}</w:p>{paragraph('b')}", **{"word/footnotes.xml": notes})
    assert found == "in 14 days[^1]\n\n[^1]: Bees.\n\nb"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("__init__ and a[0] of *args", "__init__ and a[0] of *args"),
        ("List&lt;T&gt; $x C#", "List<T> $x C#"),
        ("CVE\u20112024 op\u00adtion", "CVE-2024 option"),
        ("# no heading", "\\# no heading"),
        ("&lt;!-- shown", "\\<!-- shown"),
    ],
)
def test_names_have_no_backslash_and_text_makes_no_heading(written: str, read: str) -> None:
    found = text_of(paragraph(written) + paragraph("Setup", "Heading1"))
    assert found == f"{read}\n\n# Setup"
    assert [heading.text for heading in headings(found, "a.docx")] == ["Setup"]


def test_a_document_says_when_it_was_created_and_modified() -> None:
    core = (
        '<c xmlns:dcterms="http://purl.org/dc/terms/"><dcterms:created>2020-01-02T03:04:05Z'
        "</dcterms:created><dcterms:modified>2021-05-06T00:00:00Z</dcterms:modified></c>"
    )
    data = word(BODY.format(paragraph("a")), **{"docProps/core.xml": core})
    assert converted(data, "docx").dates == ("2020-01-02T03:04:05Z", "2021-05-06T00:00:00Z")


SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def workbook(cell: str) -> bytes:
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    sheets = f'<sheet xmlns:r="{office}" name="Setup" sheetId="1" r:id="r0"/>'
    row = f'<row r="1">{cell}</row>'
    return archive(
        {
            "_rels/.rels": relations("xl/workbook.xml", kind="officeDocument"),
            "xl/_rels/workbook.xml.rels": relations("worksheets/sheet1.xml", kind="worksheet"),
            "xl/workbook.xml": f'<workbook xmlns="{SHEET}"><sheets>{sheets}</sheets></workbook>',
            "xl/worksheets/sheet1.xml": f'''<worksheet xmlns="{SHEET}"><sheetData>{row}</sheetData>
            </worksheet>''',
        }
    )


WORKBOOK = workbook('<c r="A1" t="str"><f>A2</f><v>Lena </v></c>')


def made(kind: str, text: str) -> bytes:
    """A document of ``kind`` with a Markdown ``text``."""
    command = [str(program()), "--from=markdown", f"--to={kind.replace('tex', 'latex')}", "-s"]
    return subprocess.run(
        [*command, "-o", "-"], input=text.encode(), capture_output=True, check=True
    ).stdout


@pytest.mark.parametrize("kind", CONVERTED)
def test_each_kind_gives_headings_and_tables_in_markdown(kind: str) -> None:
    text = "# Setup\n\nfirst\n\n| Port | Owner |\n|---|---|\n| A7 | Lena |\n"
    found = converted(WORKBOOK if kind == "xlsx" else made(kind, text), kind)
    assert [heading.text for heading in headings(found.text, "a.docx")] == ["Setup"]
    assert "Lena " in found.text


def test_what_is_not_read_is_noted() -> None:
    box = f"<w:r><w:pict><w:txbxContent>{paragraph('x')}</w:txbxContent></w:pict></w:r>"
    field = f'<w:fldSimple w:instr=" SEQ Figure ">{run("7")}</w:fldSimple>'
    comments = part("comments", f'<w:comment w:id="1" {BY}>{paragraph("why?")}</w:comment>')
    data = word(BODY.format(f"<w:p>{box}{field}</w:p>"), **{"word/comments.xml": comments})
    assert converted(data, "docx").note == (
        "not read: its comments, simple fields, text boxes; it has no text: scanned?"
    )
    assert converted(ONE, "docx").note is None
    inline = workbook('<c r="A1" t="inlineStr"><is><t>Lena</t></is></c>')
    assert converted(inline, "xlsx").note == "not read: its cells with inline text"
    assert converted(WORKBOOK, "xlsx").note is None


def test_no_document_reads_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret.tex"
    secret.write_text("SECRET")
    found = converted(f"a \\input{{{secret}}} b".encode(), "tex")
    assert "SECRET" not in found.text
    assert found.note == "files that it includes are not part of its text"
    entity = f'<!DOCTYPE x [<!ENTITY e SYSTEM "file://{secret}">]>'
    document = (
        f'{entity}<w:document xmlns:w="{W}"><w:body>{paragraph("a&e;")}</w:body></w:document>'
    )
    assert "SECRET" not in repr(pandoc.answer(b"docx\n" + word(document)))


ONE = word(BODY.format(paragraph("text")))
LAUGHS = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY a{n} "{f"&a{n - 1};" * 10 if n else "&a;" * 10}">' for n in range(9)
)
HOSTILE = {
    "empty": lambda: b"",
    "text": lambda: b"no zip at all",
    "cut": lambda: ONE[: len(ONE) // 2],
    "no XML": lambda: word("<w:p>"),
    "entities": lambda: word(f'{LAUGHS}]><w:document xmlns:w="{W}">&a8;</w:document>'),
    "unpacks to 200 MB": lambda: word(BODY.format(paragraph(" " * 200_000_000))),
    "deep": lambda: word(
        BODY.format("<w:tbl><w:tr><w:tc>" * 9000 + "</w:tc></w:tr></w:tbl>" * 9000)
    ),
    "with a password": lambda: b"\xd0\xcf\x11\xe0" + b"\0" * 600,
}
"""What makes each: every worker imports this file, and one packs 200 MB."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> object:
    """A sandbox with less memory, so that a bomb needs less time."""
    sandbox = Sandbox(
        "operators.sources.formats.pandoc:answer",
        memory_bytes=400 << 20, cpu_s=20, wall_s=60.0, requests_a_child=9,
    )  # fmt: skip
    monkeypatch.setattr(pandoc, "SANDBOX", sandbox)
    with closing(sandbox):
        yield sandbox


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_what_is_damaged_or_hostile_is_refused_in_one_line(make: Callable[[], bytes]) -> None:
    with pytest.raises(ValueError, match=r"not a readable .docx: .") as refused:
        converted(make(), "docx")
    assert "\n" not in str(refused.value)
    assert converted(ONE, "docx").text == "text"


@settings(max_examples=30)
@given(st.integers(0, len(ONE) - 1), st.binary(min_size=1, max_size=4))
def test_whatever_byte_is_damaged_there_is_a_text_or_a_refusal(at: int, new: bytes) -> None:
    reply = pandoc.answer(b"docx\n" + ONE[:at] + new + ONE[at + len(new) :])
    assert reply.keys() & {"text", "failed"}


@pytest.mark.parametrize(
    ("status", "why"), [(-signal.SIGXCPU, "s of CPU"), (251, "MiB"), (7, "pandoc ended"), (0, "")]
)
def test_an_end_of_pandoc_has_a_reason(status: int, why: str) -> None:
    ended = pandoc.why_failed(subprocess.CompletedProcess([], status, b"", b""))
    assert why in (ended or {"failed": ""})["failed"]


def test_a_reader_that_something_kills_is_not_the_fault_of_the_document(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed = subprocess.CompletedProcess([], -signal.SIGKILL, b"", b"")
    reply = pandoc.why_failed(killed)
    monkeypatch.setattr(pandoc.SANDBOX, "ask", lambda _: reply)
    with pytest.raises(ChildProcessError, match="was killed"):
        converted(ONE, "docx")

    def ask(_: bytes) -> None:
        raise Passing("its reader was killed")

    monkeypatch.setattr(pandoc.SANDBOX, "ask", ask)
    with pytest.raises(ChildProcessError, match="its reader was killed"):
        converted(ONE, "docx")

from pathlib import Path

import pytest
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

"""Pages that are turned or written sideways are read as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest
from pdf_maker import make_pdf

from operators.sources.formats.pdf import PdfReader, pdf_text

ANCHOR = [
    "Anchor chain length is",
    "two hundred metres of",
    "forged steel links, each",
    "inspected by the mate on",
    "watch before the vessel",
    "leaves the harbour wall.",
]
GALLEY = [
    "The galley crew cooks at",
    "noon for all the hands on",
    "deck and below, and the",
    "cook writes the stores in",
    "a ledger that the purser",
    "reads once every week.",
]
TURNS = {
    0: "1 0 0 1 0 0",
    90: "0 1 -1 0 595 0",
    180: "-1 0 0 -1 595 842",
    270: "0 -1 1 0 0 842",
}
"""The matrix that turns a text by so many degrees, anticlockwise, on a page of 595 by 842."""


def at(x: float, y: float, text: str, matrix: str = "1 0 0 1") -> str:
    return f"BT /F 12 Tf {matrix} {x} {y} Tm ({text}) Tj ET"


def lines(texts: Sequence[str], x: float = 60, y: float = 500, pitch: float = 14) -> str:
    return " ".join(at(x, y - pitch * n, text) for n, text in enumerate(texts))


def rows(columns: dict[int, list[str]], y: float = 500, pitch: float = 14) -> str:
    """Columns, by their left edges, drawn row by row."""
    return " ".join(
        at(x, y - pitch * n, column[n])
        for n in range(max(map(len, columns.values())))
        for x, column in columns.items()
        if n < len(column)
    )


def turned(stream: str, degrees: int) -> str:
    return f"q {TURNS[degrees]} cm {stream} Q"


def page(stream: str, keys: str = "") -> bytes:
    """A PDF of one page of 595 by 842 points."""
    made = make_pdf(["?"]).replace(b"[0 0 5000 800]", f"[0 0 595 842]{keys}".encode())
    before, _, rest = made.partition(b"5 0 obj\n")
    content = f"<</Length {len(stream)}>>stream\n{stream}\nendstream\nendobj\n"
    return before + b"5 0 obj\n" + content.encode("latin-1") + rest.partition(b"endobj\n")[2]


@pytest.fixture
def reader() -> Iterator[PdfReader]:
    with closing(PdfReader()) as reader:
        yield reader


def read(reader: PdfReader, stream: str, keys: str = "") -> list[str]:
    text = pdf_text(reader.read(page(stream, keys)))
    return [line.strip() for line in text.split("\n") if line.strip()]


@pytest.mark.parametrize("rotate", [0, 90])
@pytest.mark.parametrize("degrees", TURNS)
def test_a_page_keeps_its_lines_whichever_way_it_and_its_text_are_turned(
    reader: PdfReader, degrees: int, rotate: int
) -> None:
    assert read(reader, turned(lines(ANCHOR), degrees), f"/Rotate {rotate}") == ANCHOR


def test_of_a_turned_page_what_lies_outside_its_box_stays_out(reader: PdfReader) -> None:
    stream = turned(lines(ANCHOR), 90) + at(5, 20, "outside")
    keys = "/Rotate 90/CropBox[50 50 595 700]"
    assert read(reader, stream, keys) == ANCHOR


@pytest.mark.parametrize("matrix", ["0 1 -1 0", "0 -1 1 0"], ids=["upwards", "downwards"])
def test_a_sideways_label_of_several_lines_follows_the_text_in_the_order_of_its_lines(
    reader: PdfReader, matrix: str
) -> None:
    first, second = (20, 36) if matrix == "0 1 -1 0" else (36, 20)
    label = at(first, 400, "Figure two shows", matrix) + at(second, 400, "the windlass", matrix)
    stream = lines(ANCHOR[:3]) + label + lines(ANCHOR[3:], y=500 - 3 * 14)
    assert read(reader, stream) == [*ANCHOR, "Figure two shows", "the windlass"]


def test_a_sideways_word_that_is_drawn_letter_by_letter_is_one_word(reader: PdfReader) -> None:
    letters = " ".join(at(30, 400 + 8 * n, c, "0 1 -1 0") for n, c in enumerate("ANCHORS"))
    assert read(reader, lines(ANCHOR) + letters) == [*ANCHOR, "ANCHORS"]


def test_columns_drawn_one_after_the_other_stay_so(reader: PdfReader) -> None:
    assert read(reader, lines(ANCHOR, 50) + lines(GALLEY, 320)) == ANCHOR + GALLEY


def test_a_row_of_a_table_stays_in_one_line(reader: PdfReader) -> None:
    names, lengths = ["Name", "Margaret", "Ingrid"], ["Length", "22 m", "19 m"]
    table = {60: names, 180: lengths, 300: ["6 m", "5 m", "8 m"]}
    assert read(reader, rows(table)) == [" ".join(row) for row in zip(*table.values(), strict=True)]


def test_a_short_line_beside_each_bullet_is_no_column(reader: PdfReader) -> None:
    found = read(reader, rows({60: ["*"] * 6, 100: ANCHOR}))
    assert [line.removeprefix("*").strip() for line in found if line != "*"] == ANCHOR


def test_a_tilted_stamp_follows_the_text(reader: PdfReader) -> None:
    stamp = at(150, 100, "CONFIDENTIAL", "0.7071 0.7071 -0.7071 0.7071")
    assert read(reader, stamp + lines(ANCHOR)) == [*ANCHOR, "CONFIDENTIAL"]


def test_letters_that_lean_are_upright(reader: PdfReader) -> None:
    leaning = " ".join(at(60, 500 - 14 * n, t, "1 0 0.5 1") for n, t in enumerate(ANCHOR))
    assert read(reader, leaning) == ANCHOR

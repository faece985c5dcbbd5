from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from operators.sources.chunking.chunk_places import add_places
from operators.sources.chunking.chunker import chunk_documents
from operators.sources.formats.pdf import PdfText, pdf_text
from operators.sources.protocol import Document, document_frame


def count(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def placed(document: Document, tokens: int = 8) -> pl.DataFrame:
    frame = document_frame([document])
    return add_places(chunk_documents(frame, count, tokens), frame)


def metadata(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return [json.loads(value) for value in frame["metadata"]]


def pdf(*pages: str) -> Document:
    text = pdf_text(PdfText(list(pages), {}, [], []))
    return Document("a.pdf", "docs", "", None, text, path="a.pdf", language="pdf")


def test_each_chunk_of_a_pdf_says_its_page() -> None:
    words = "one two three four five six"
    found = placed(pdf(words, "", f"{words}\n{words}"))
    assert [m["page"] for m in metadata(found)] == [1, 3, 3]
    assert [m["fragment"] for m in metadata(found)] == ["page=1", "page=3", "page=3"]
    assert not found["text"].str.contains("\f").any()


def test_a_chunk_over_several_pages_says_the_first_that_it_has_text_of() -> None:
    assert metadata(placed(pdf("", "a", "b")))[0]["page"] == 2


def test_a_section_of_a_page_says_its_slug() -> None:
    text = "intro one two three\n\n# A\n\none two three four five\n\n# A\n\none two three four\n"
    found = placed(Document("a.md", "wiki", "", None, text, path="a.md", metadata='{"k": 1}'))
    assert [m.get("fragment") for m in metadata(found)] == [None, "a", "a-1"]
    assert list(found["anchor"]) == [None, "A", "A"]
    assert all(m["k"] == 1 for m in metadata(found))


def test_other_corpora_and_other_columns_stay_as_they_are() -> None:
    code = Document("a.md", "code", "", None, "# A\n\f\n", path="a.md")
    frame = document_frame([code])
    chunks = chunk_documents(frame, count, 8)
    assert add_places(chunks, frame).equals(chunks)
    both = document_frame([code, replace(code, corpus="docs")])
    cut = chunk_documents(both, count, 8)
    made = add_places(cut, both)
    assert made.drop("metadata").equals(cut.drop("metadata"))
    assert made.columns == cut.columns

import json
import re
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.embedding.passage import embedded_text
from operators.frames import DOCUMENTS
from operators.sources.chunking.chunker import (
    CUT_BY_LINES,
    MAX_CHARACTERS,
    chunk_documents,
    chunk_id,
)
from operators.sources.formats.pdf import PdfText, pdf_text
from operators.sources.protocol import Document, document_frame


def count_words(texts: list[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def documents(*texts: str, path: str = "a.txt", title: str = "") -> pl.DataFrame:
    rows = [
        {
            "document_id": f"d{number}",
            "corpus": "docs",
            "repo": "org/app",
            "title": title,
            "text": text,
            "path": path,
            "metadata": json.dumps({}),
        }
        for number, text in enumerate(texts)
    ]
    return pl.DataFrame(rows, schema=DOCUMENTS)


lines = st.lists(st.text(alphabet="ab {}#\t", max_size=60).map(lambda line: line + "\n"))
texts = lines.map("".join) | lines.map(lambda some: "".join(some) * 9) | st.text(max_size=400)


@given(texts, st.integers(3, 30))
def test_chunks_joined_are_the_document_apart_from_blank_runs(text: str, window: int) -> None:
    chunks = chunk_documents(documents(text), count_words, window)
    assert "".join("".join(chunks["text"]).split()) == "".join(text.split())
    assert chunks["text"].str.strip_chars().ne("").all()


PAGE = "---\nversion: 1.2\n---\n\n# Guide\n\n## A\n\nText of a.\n\n## B\n\nText of b.\n\n## C\n"


@pytest.mark.parametrize(("version", "path"), [("1.2", "guide.md"), (None, "guide-1.2.md")])
def test_each_section_with_text_is_a_passage_of_a_document_that_has_a_version(
    version: str | None, path: str
) -> None:
    page = documents(PAGE, path=path).with_columns(version=pl.lit(version, pl.String))
    chunks = chunk_documents(page, count_words, 100)
    assert chunks["anchor"].to_list() == ["A", "B"]
    assert "".join(chunks["text"]) == PAGE


def test_small_sections_share_a_passage_where_no_versions_are_compared() -> None:
    assert chunk_documents(documents(PAGE, path="guide.md"), count_words, 100)[
        "text"
    ].to_list() == [PAGE]


headed = st.lists(
    st.sampled_from(["---\n", "# One\n", "## Two\n", "word word\n", "\n", "- - -\n"]), max_size=40
).map("".join)


@given(headed, st.integers(3, 30))
def test_sections_kept_apart_lose_nothing(text: str, window: int) -> None:
    page = documents(text, path="guide-1.2.md")
    chunks = chunk_documents(page, count_words, window)
    assert "".join("".join(chunks["text"]).split()) == "".join(text.split())


@given(texts, st.integers(64, 100), st.sampled_from(["", "the title"]))
def test_no_chunk_with_its_heading_exceeds_the_window(text: str, window: int, title: str) -> None:
    chunks = chunk_documents(documents(text, title=title, path="a.md"), count_words, window)
    for chunk in chunks.iter_rows(named=True):
        embedded = embedded_text(chunk["title"], chunk["anchor"], chunk["text"])
        assert len(embedded.split()) <= window
        assert len(chunk["text"]) <= MAX_CHARACTERS


@given(texts)
def test_lines_say_where_a_chunk_stands_in_the_document(text: str) -> None:
    whole = text.split("\n")
    for chunk in chunk_documents(documents(text), count_words, 8).iter_rows(named=True):
        stretch = "\n".join(whole[chunk["start_line"] - 1 : chunk["end_line"]])
        assert chunk["text"].rstrip("\n") in stretch


@pytest.mark.parametrize(("path", "language"), [("a.md", None), ("a.odt", "odt"), ("a.tex", "tex")])
def test_a_chunk_ends_before_a_heading_rather_than_in_the_middle_of_a_section(
    path: str, language: str | None
) -> None:
    text = "# One\n" + "a b c\n" * 3 + "# Two\n" + "d e f\n" * 3
    frame = documents(text, path=path).with_columns(language=pl.lit(language, pl.String))
    chunks = chunk_documents(frame, count_words, 16)
    assert chunks["text"].to_list() == ["# One\n" + "a b c\n" * 3, "# Two\n" + "d e f\n" * 3]
    assert chunks["anchor"].to_list() == ["One", "Two"]


@given(st.lists(st.integers(1, 20).map(lambda n: "## H\n\n### I\n" + "w " * n + "\n"), max_size=9))
def test_no_passage_is_a_heading_without_its_text(sections: list[str]) -> None:
    chunks = chunk_documents(documents("".join(sections), path="a.md"), count_words, 16)
    assert chunks["text"].str.contains("w").all()


def test_a_chunk_of_code_ends_before_a_function_rather_than_at_a_blank_line_inside() -> None:
    text = "def a():\n    one\n\n    two\n\ndef b():\n    three\n\n    four\n\ndef c():\n    five\n"
    chunks = chunk_documents(documents(text, path="a.py"), count_words, 5)
    assert [part.splitlines()[0] for part in chunks["text"]] == ["def a():", "def b():", "def c():"]


FUNCTIONS = "".join(
    f"# about {name}\n@twice\ndef {name}():\n" + "    a = b\n" * 4 + "\n" for name in "fghij"
)


def test_a_function_that_fits_the_window_is_whole_with_its_comments_and_decorators() -> None:
    for window in (22, 30, 40, 47, 63):
        chunks = chunk_documents(documents(FUNCTIONS, path="a.py"), count_words, window)
        assert "".join(chunks["text"]) == FUNCTIONS
        assert all(text.startswith("# about") for text in chunks["text"])


def test_small_functions_share_a_chunk_and_a_large_one_is_cut_between_its_statements() -> None:
    inner = "    if x:\n" + "        a = b\n" * 3
    text = FUNCTIONS + "def large():\n" + inner * 20
    chunks = chunk_documents(documents(text, path="a.py"), count_words, 60)
    assert "".join(chunks["text"]) == text
    assert chunks["text"][0].count("def ") == 3
    cut = chunks.filter(pl.col("anchor") == "large")["text"].to_list()
    assert len(cut) > 2
    assert all(part.startswith("    if x:") for part in cut[1:])


def test_the_anchor_of_a_chunk_of_code_is_its_qualified_symbol() -> None:
    methods = "".join(f"    def {name}(self):\n" + "        a = b\n" * 5 for name in "fg")
    text = "import a\n\nclass A:\n" + methods + "\nx = 1\n"
    chunks = chunk_documents(documents(text, path="a.py"), count_words, 22)
    assert chunks["anchor"].to_list() == ["A", "A.g"]
    whole = chunk_documents(documents(text, path="a.py"), count_words, 200)
    assert whole["anchor"].to_list() == ["A"]
    assert chunk_documents(documents("x = 1\n", path="a.py"), count_words)["anchor"].item() is None


def test_the_language_of_a_document_counts_before_its_path() -> None:
    rows = documents("f() {\n  x\n}\n", path="bin/run").with_columns(language=pl.lit("bash"))
    assert chunk_documents(rows, count_words)["anchor"].to_list() == ["f"]


@given(st.lists(st.sampled_from(FUNCTIONS.splitlines(True)) | st.text(max_size=20)).map("".join))
def test_code_in_any_state_is_kept_whole_and_inside_the_window(text: str) -> None:
    chunks = chunk_documents(documents(text, path="a.py", title="a.py"), count_words, 64)
    assert "".join("".join(chunks["text"]).split()) == "".join(text.split())
    for chunk in chunks.iter_rows(named=True):
        embedded = embedded_text(chunk["title"], chunk["anchor"], chunk["text"])
        assert len(embedded.split()) <= 64


def test_code_whose_parser_gives_up_is_cut_by_lines_and_its_chunks_say_why() -> None:
    given = documents("a < " * 20_000, "int f() {\n}\n", path="a.java")
    made = chunk_documents(given.with_columns(metadata=pl.lit('{"commit": "c1"}')), count_words)
    for document_id, metadata in made.select("document_id", "metadata").iter_rows():
        gave_up = {CUT_BY_LINES: "the grammar of java gave up"}
        parsed = {"defines": ["f"], "kinds": ["method"], "lines": [[1, 2]], "uses": []}
        note = gave_up if document_id == "d0" else parsed
        assert json.loads(metadata) == {"commit": "c1", **note}
    text = "".join(made.filter(document_id="d0")["text"])
    assert text == "a < " * 20_000


def test_a_wall_of_characters_is_cut_although_it_is_one_word() -> None:
    chunks = chunk_documents(documents("x" * 50_000), count_words, 254)
    assert max(chunks["text"].str.len_chars()) <= MAX_CHARACTERS
    assert "".join(chunks["text"]) == "x" * 50_000


def test_a_heading_of_a_megabyte_is_not_in_every_chunk_below_it() -> None:
    text = "# " + "one two " * 50_000 + "\n" + "word " * 1000
    chunks = chunk_documents(documents(text, path="a.md"), count_words, 50)
    told = "one two " * 37 + "one…"
    assert set(chunks["anchor"]) == {told}
    assert set(chunks["metadata"]) == {json.dumps({"heading_path": told}, ensure_ascii=False)}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.md", "# News\n\n## [1.2](http://a/1)\n\n### Removed\n\n{}\n\n## 1.1\n\n{}\n"),
        ("a.rst", "News\n####\n\n1.2\n===\n\nRemoved\n-------\n\n{}\n\n1.1\n===\n\n{}\n"),
    ],
)
def test_a_chunk_says_the_headings_that_its_section_stands_under(path: str, text: str) -> None:
    page = documents(text.replace("{}", "word " * 10), path=path, title="News")
    chunks = chunk_documents(page, count_words, 30)
    said = [json.loads(metadata)["heading_path"] for metadata in chunks["metadata"]]
    assert said == ["1.2 > Removed", "1.1"]
    assert chunks["anchor"].to_list() == ["Removed", "1.1"]


def test_a_chunk_of_a_changelog_has_version_and_day_of_its_release_and_no_topic() -> None:
    text = "# Changes\n\nAbout.\n\n## 1.1 (2024-03-01)\n\n### Fixed\n\none\n\n## 1.0\n\ntwo\n"
    dated = documents(text, path="CHANGES.md").with_columns(
        doc_date=pl.lit(datetime(2025, 1, 1, tzinfo=UTC)), lineage_id=pl.lit("changes.md")
    )
    chunks = chunk_documents(dated, count_words)
    assert chunks["version"].to_list() == [None, "1.1", "1.0"]
    assert chunks["anchor"].to_list() == ["Changes", "1.1 (2024-03-01) > Fixed", "1.0"]
    assert chunks["doc_date"].dt.year().to_list() == [2025, 2024, None]
    assert chunks["lineage_id"].to_list() == ["changes.md", None, None]
    assert chunks.select("start_line", "end_line").rows() == [(1, 4), (5, 10), (11, 13)]
    assert "".join(chunks["text"]) == text


def test_a_changelog_of_one_version_is_of_that_version_as_a_whole() -> None:
    page = documents("# News\n\n## 1.1\n\none\n", path="v2/NEWS.md").with_columns(
        version=pl.lit("2")
    )
    assert chunk_documents(page, count_words)["version"].to_list() == ["2"]


def test_ids_are_stable_and_differ_between_repositories() -> None:
    first = chunk_documents(documents("a\nb\n", "a\nb\n"), count_words, 1)
    assert first["chunk_id"].n_unique() == first.height
    assert chunk_id("docs", "org/app", "d0", 0) == first["chunk_id"][0]
    assert chunk_id("docs", "org/other", "d0", 0) != first["chunk_id"][0]


def placed(document: Document, tokens: int = 8) -> pl.DataFrame:
    frame = document_frame([document])
    return chunk_documents(frame, count_words, tokens)


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


def test_a_section_of_a_page_says_its_slug() -> None:
    text = "intro one two three\n\n# A\n\none two three four five\n\n# A\n\none two three four\n"
    found = placed(Document("a.md", "wiki", "", None, text, path="a.md", metadata='{"k": 1}'))
    assert [m.get("fragment") for m in metadata(found)] == [None, "a", "a-1"]
    assert list(found["anchor"]) == [None, "A", "A"]
    assert all(m["k"] == 1 for m in metadata(found))


def test_a_chunk_of_code_says_what_begins_in_it_its_kinds_and_lines_and_what_it_uses() -> None:
    methods = "\n".join(f"  int m{n}() {{\n    return m{n + 1}();\n  }}\n" for n in range(40))
    lock = documents(f"class Lock {{\n{methods}}}\n", path="a.java")
    made = chunk_documents(lock, count_words, 60)
    told = metadata(made)
    assert len(told) > 1
    held = [
        each
        for one in told
        for each in zip(one["defines"], one["kinds"], one["lines"], strict=True)
    ]
    assert held == [
        ("Lock", "class", [1, 161]),
        *((f"Lock.m{n}", "method", [2 + 4 * n, 4 + 4 * n]) for n in range(40)),
    ]
    above = [one.get("signatures_above") for one in told]
    assert above == [None, *["class Lock"] * (len(above) - 1)]
    for one, text in zip(told, made["text"], strict=True):
        assert all(name.rpartition(".")[2] in text for name in one["defines"])
        assert one["uses"] == sorted(re.findall(r"return (m\d+)", text))

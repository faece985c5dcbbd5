import json

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.frames import CHUNKS, DOCUMENTS, check
from operators.sources.chunking import (
    MAX_CHARACTERS,
    chunk_documents,
    chunk_id,
    embedded_text,
)


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
@settings(max_examples=200)
def test_chunks_joined_are_the_document_apart_from_blank_runs(text: str, window: int) -> None:
    chunks = chunk_documents(documents(text), count_words, window)
    assert "".join("".join(chunks["text"]).split()) == "".join(text.split())
    assert chunks["text"].str.strip_chars().ne("").all()


@given(texts, st.integers(64, 100), st.sampled_from(["", "the title"]))
@settings(max_examples=200)
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


def test_the_frame_is_chunks_without_the_embedding_even_when_there_is_nothing() -> None:
    schema = pl.Schema({k: v for k, v in CHUNKS.items() if k != "embedding"})
    check(chunk_documents(documents(), count_words), schema, "chunks")
    check(chunk_documents(documents("text", " \n "), count_words), schema, "chunks")
    assert chunk_documents(documents(" \n\t\n"), count_words).is_empty()


def test_a_chunk_ends_before_a_heading_rather_than_in_the_middle_of_a_section() -> None:
    text = "# One\n" + "a b c\n" * 3 + "# Two\n" + "d e f\n" * 3
    chunks = chunk_documents(documents(text, path="a.md"), count_words, 16)
    assert chunks["text"].to_list() == ["# One\n" + "a b c\n" * 3, "# Two\n" + "d e f\n" * 3]
    assert chunks["anchor"].to_list() == ["One", "Two"]


def test_a_chunk_of_code_ends_before_a_function_rather_than_at_a_blank_line_inside() -> None:
    text = "def a():\n    one\n\n    two\n\ndef b():\n    three\n\n    four\n\ndef c():\n    five\n"
    chunks = chunk_documents(documents(text, path="a.py"), count_words, 5)
    assert [part.splitlines()[0] for part in chunks["text"]] == ["def a():", "def b():", "def c():"]


def test_a_line_longer_than_the_window_is_cut_between_words() -> None:
    chunks = chunk_documents(documents("word " * 100), count_words, 10)
    assert chunks.height == 10
    assert chunks["start_line"].unique().to_list() == [1]


def test_a_wall_of_characters_is_cut_although_it_is_one_word() -> None:
    chunks = chunk_documents(documents("x" * 50_000), count_words, 254)
    assert max(chunks["text"].str.len_chars()) <= MAX_CHARACTERS
    assert "".join(chunks["text"]) == "x" * 50_000


def test_ids_are_stable_and_differ_between_repositories() -> None:
    first = chunk_documents(documents("a\nb\n", "a\nb\n"), count_words, 1)
    assert first["chunk_id"].n_unique() == first.height
    assert chunk_id("docs", "org/app", "d0", 0) == first["chunk_id"][0]
    assert chunk_id("docs", "org/other", "d0", 0) != first["chunk_id"][0]

from __future__ import annotations

from operators.embedding.passage import MAX_HEADING, chunk_heading, embedded_text


def test_a_chunk_is_embedded_with_where_it_is_from() -> None:
    assert embedded_text("Cache", "Flush", "It flushes.") == "Cache > Flush\nIt flushes."
    assert embedded_text(None, "Flush", "It flushes.") == "Flush\nIt flushes."


def test_a_chunk_of_nowhere_is_embedded_as_it_is() -> None:
    assert embedded_text(None, None, "It flushes.") == "It flushes."


def test_a_long_heading_is_cut_and_the_text_is_not() -> None:
    text = "word " * 500
    assert embedded_text("t" * 500, "a", text) == "t" * MAX_HEADING + "\n" + text
    assert len(chunk_heading("t" * 500, "a")) == MAX_HEADING

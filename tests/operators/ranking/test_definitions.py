"""The names that a line defines."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from operators.ranking.definitions import definition_of, names_defined

PARTS = [
    *("abstract", "async", "const", "data", "declare", "default", "export", "extern", "final"),
    *("inline", "open", "override", "pub", "public", "static", "unsafe", "virtual", "pub(crate)"),
    *("class", "def", "defmodule", "enum", "fn", "fun", "func", "function", "impl", "interface"),
    *("let", "macro_rules!", "module", "namespace", "struct", "trait", "type", "val", "#define"),
    *("flush", "Lock", "_a", "é1", "1st", "x2", "size_t", "std"),
    *(" ", "  ", "\t", "(", ")", "(self)", "(r *T)", "{", "}", ") {", ".", ":", "::", "=", " = "),
    *("*", "&", "<T>", ",", ";", "->", "function", "async", "\r", "²", '"'),
]


def by_one_pattern_a_word(line: str) -> set[str]:
    words = set(re.findall(r"[^\W\d]\w*", line))
    return {word for word in words if definition_of(word).search(line)}


@given(st.lists(st.sampled_from(PARTS), max_size=14).map("".join))
@settings(max_examples=150)
def test_the_names_of_a_line_are_those_that_a_pattern_for_each_word_has(line: str) -> None:
    assert names_defined(line) == by_one_pattern_a_word(line)

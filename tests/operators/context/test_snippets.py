"""A result shows the lines that answer, as they stand in the file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from operators.context.snippets import LONGEST, MOST_LINES, snippet

CODE = "import os\n\n\nclass Cache:\n\tdef __init__(self):\n\t\tself.kept = {}\n\n" + "\n".join(
    f"    def other_{n}(self):\n        return {n}\n" for n in range(9)
) + "\n    def flush(self):\n        # flush twice\n        self.kept.clear()\n"  # fmt: skip


def test_the_lines_with_the_words_of_the_question_are_shown_with_their_breaks() -> None:
    text, line = snippet(CODE, "why is the cache flushed twice")
    assert text == "def flush(self):\n    # flush twice\n    self.kept.clear()"
    assert CODE.split("\n")[line] == "    def flush(self):"


def test_without_a_word_of_the_question_the_beginning_is_shown() -> None:
    text, line = snippet(CODE, "elephants")
    assert text.startswith("import os\nclass Cache:\n    def __init__(self):")
    assert text.endswith("…")
    assert line == 0


def test_a_rule_or_the_head_of_a_hunk_is_not_what_is_shown() -> None:
    rule = "/" + 60 * "*" + "\n"
    assert snippet(rule + " * Copyright " + 90 * "word ", "elephants", brief=True).line == 1
    assert snippet("@@ -8,17 @@\n+def flush():\n+    go()", "flush", brief=True).line == 1
    heading = "===Cache===\nFlushed once.\n" + 40 * "more words\n"
    assert snippet(heading, "cache", brief=True).text == "===Cache===\nFlushed once.…"


@given(st.text(alphabet="ab \n\t", max_size=500), st.sampled_from(["a", "", "b a"]))
def test_a_snippet_is_never_too_long_and_has_text_where_the_passage_has(
    passage: str, asked: str
) -> None:
    text, line = snippet(passage, asked)
    assert len(text) <= LONGEST
    assert text.count("\n") < MOST_LINES
    assert bool(text.strip()) == bool(passage.strip())
    assert 0 <= line <= passage.count("\n")

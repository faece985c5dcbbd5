"""What a long question is searched with: what was pasted into it drowns nothing."""

from __future__ import annotations

import time

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.context.long_texts import LONGEST_CODE, essential, reduced
from operators.question.ask import ask

PROSE = (
    "Sessions are lost on redirect\n\nThe cookie of a session is not sent again. "
    + "It is so. " * 90
)
PACKAGES = "\n".join(f"package-{n}    1.{n}.0" for n in range(40))
LOG = "\n".join(f"2024-05-01 12:00:{n:02d},123 INFO worker started" for n in range(40))
PYTHON = "Traceback (most recent call last):\n" + "".join(
    f'  File "/usr/lib/python3/site-packages/app/m{n}.py", line {n}, in f{n}\n    call_{n}()\n'
    for n in range(20)
) + "ValueError: no such session"  # fmt: skip
JAVA = "java.lang.IllegalStateException: closed\n" + "\n".join(
    f"\tat org.app.Class{n}.method{n}(Class{n}.java:{n})" for n in range(20)
)


@pytest.mark.parametrize("text", ["short question", "package 1.2.3\n" * 9])
def test_a_short_text_is_searched_as_it_is(text: str) -> None:
    assert essential(text) == text


@pytest.mark.parametrize(
    "dump",
    [
        PACKAGES,
        LOG,
        "\n".join(f"$ command {n}" for n in range(40)),
        "- [x] I have read the guide\n- [ ] I have searched the issues",
        "<!-- Thanks for the report!\nPlease fill this in. -->",
        "### Checklist\n\n**Environment:**\n\n## Versions",
        "\n".join("0123456789abcdef  00 11" for _ in range(9)),
    ],
)
def test_what_is_dumped_into_a_text_is_not_searched(dump: str) -> None:
    kept = essential(f"{PROSE}\n\n{dump}\n\nThe end.")
    assert kept.replace("```", "").split() == [*PROSE.split(), "The", "end."]


def test_a_traceback_is_searched_with_its_last_frames_and_its_error() -> None:
    kept = essential(f"{PROSE}\n\n```\n{PYTHON}\n```\n\nWhy?")
    assert [n for n in range(20) if f"m{n}.py" in kept] == [17, 18, 19]
    assert "ValueError: no such session" in kept
    assert kept.startswith(PROSE.strip())
    assert kept.endswith("Why?")


def test_frames_of_other_languages_are_read_too() -> None:
    kept = essential(f"{PROSE}\n\n{JAVA}\n")
    assert 0 < sum(f"Class{n}.java" in kept for n in range(20)) <= 4
    assert "IllegalStateException" in kept


def test_a_long_script_is_searched_with_its_first_lines() -> None:
    script = "\n".join(f"line_{n}()" for n in range(60))
    kept = essential(f"{PROSE}\n\n```python\n{script}\n```\n\nand more")
    assert sum(f"line_{n}()" in kept for n in range(60)) == LONGEST_CODE + 1
    assert kept.endswith("and more")


def test_a_text_that_is_all_dump_is_searched_whole() -> None:
    assert essential(LOG) == LOG


@given(st.text(alphabet="a `~>\n\t-=#1.$", max_size=3000).map(lambda t: t + " word" * 200))
def test_what_is_searched_is_in_the_text_and_never_empty(text: str) -> None:
    kept = essential(text)
    assert kept.strip()
    assert not set(kept.split()) - set(text.split())


@pytest.mark.parametrize(
    "text", ["<!--" * 5000, "- " * 10_000, " " * 20_000 + "x", "at x(" * 4000, "```\n" * 5000]
)
def test_a_hostile_text_is_read_in_no_time(text: str) -> None:
    began = time.monotonic()
    essential(text)
    assert time.monotonic() - began < 1


def test_a_reader_is_told_how_much_of_a_question_is_searched() -> None:
    queries = pl.concat([ask("short"), ask(f"{PROSE}\n\n{PACKAGES}")])
    short, long = reduced(queries)["cut"]
    assert short is None
    assert "characters are searched: not its logs, lists of packages" in long

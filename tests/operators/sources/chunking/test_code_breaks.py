""""""

import re
import resource
import time
from textwrap import dedent

import pytest
from code_samples import SAMPLES, check, parsed, sample
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.sources.chunking import grammars
from operators.sources.chunking.code_breaks import (
    MAX_PARSED,
    Breaks,
    Definition,
    Unparsed,
    breaks,
    symbol,
)
from operators.sources.chunking.grammars import GRAMMARS

LANGUAGES = [name for name in GRAMMARS if name != "tsx"]


def peak_memory() -> int:
    """Bytes that this process held at most; the parser's child is another."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize(
    "text",
    [
        "(" * 30_000 + ")" * 30_000,
        "(\n" * 30_000 + ")\n" * 30_000,
        "(" * 30_000,
        "[" * 30_000 + "]" * 30_000,
        "if x:\n" + "".join(" " * n + "if x:\n" for n in range(1, 400)),
        "a <\n" * 20_000,
    ],
    ids=["parentheses", "on lines of their own", "unclosed", "brackets", "indented", "compared"],
)
@pytest.mark.parametrize("language", ["python", "java", "csharp", "c", "bash"])
def test_deep_nesting_is_quick(text: str, language: str) -> None:
    began = time.perf_counter()
    found = breaks(text, language)
    assert time.perf_counter() - began < 30
    if isinstance(found, Breaks):
        assert len(found.depths) == text.count("\n") + 1


def test_what_is_not_known_or_too_large_has_no_breaks() -> None:
    assert breaks("IDENTIFICATION DIVISION.\n", "cobol") is None
    assert breaks("x\n", None, "notes.txt") is None
    large = breaks("x = 1\n" * (MAX_PARSED // 6 + 1), "python")
    assert large == Unparsed(f"it is larger than {MAX_PARSED} bytes")


def test_a_text_that_takes_the_parser_too_much_is_given_up_and_the_next_one_is_parsed() -> None:
    before = peak_memory()
    began = time.perf_counter()
    assert breaks("a < " * 20_000, "java") == Unparsed("the grammar of java gave up")
    assert time.perf_counter() - began < 30
    assert peak_memory() - before < 100 << 20
    assert parsed("int f() {\n}\n", "c").definitions == [Definition(0, 1, "f")]


@pytest.mark.parametrize("text", ["", "\n", "\n\n", "x", "\r\n", "x = 1\r\ny = 2", "\udc80\0\n"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_line_of_any_text_has_a_depth(text: str, language: str) -> None:
    assert len(parsed(text, language).depths) == text.count("\n") + 1


PIECES = sorted({line for text in SAMPLES.values() for line in dedent(text).split("\n")})


code = st.lists(st.sampled_from(PIECES) | st.text("(){}[]<>\"'`\\/*#:;=, aB1\t\r\0é€", max_size=20))


@given(code.map("\n".join), st.sampled_from(LANGUAGES))
@settings(max_examples=400, deadline=None)
def test_any_mixture_of_code_has_sane_breaks_the_same_each_time(text: str, language: str) -> None:
    found = parsed(text, language)
    check(text, found)
    assert breaks(text, language) == found


@given(st.data(), st.sampled_from(list(SAMPLES)))
@settings(max_examples=200, deadline=None)
def test_code_torn_anywhere_has_sane_breaks(data: st.DataObject, language: str) -> None:
    text = sample(language)
    at = data.draw(st.integers(0, len(text)))
    to = data.draw(st.integers(at, len(text)))
    torn = text[:at] + data.draw(st.text(max_size=3)) + text[to:]
    tsx = language == "tsx"
    found = breaks(torn, "typescript" if tsx else language, "a.tsx" if tsx else None)
    if isinstance(found, Breaks):  # a grammar may crash on torn code; then it is cut by lines
        check(torn, found)


def test_the_symbol_of_lines_is_the_definition_that_has_most_of_them() -> None:
    found = [
        Definition(0, 20, "A"),
        Definition(2, 5, "A.f"),
        Definition(6, 9, "A.g"),
        Definition(22, 23, "h"),
    ]
    assert symbol(found, 0, 20) == "A"
    assert symbol(found, 3, 4) == "A.f"
    assert symbol(found, 2, 9) == "A"
    assert symbol(found, 8, 9) == "A.g"
    assert symbol(found, 21, 30) == "h"
    assert symbol(found, 24, 30) is None
    assert symbol([], 0, 9) is None


def test_without_the_grammars_code_is_cut_as_text_and_the_reason_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = grammars.find_spec
    monkeypatch.setattr(
        grammars, "find_spec", lambda name: None if name.startswith("tree_sitter") else real(name)
    )
    grammars.installed.cache_clear()
    try:
        found = breaks("def f():\n    pass\n", "python")
        assert isinstance(found, Unparsed)
        assert re.fullmatch(r"no grammar of python is installed: .*\[code\].*", found.reason)
    finally:
        grammars.installed.cache_clear()

"""Where code is cut: real parsers, samples of each language, real sources."""

import ast
import re
import resource
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from code_samples import SAMPLES, check, marked, parsed, spans
from hypothesis import given
from hypothesis import strategies as st

from operators.ranking.definitions import is_listable
from operators.sources.chunking import grammars
from operators.sources.chunking.code_breaks import (
    MAX_PARSED,
    Breaks,
    Unparsed,
    breaks,
    signatures_above,
)
from operators.sources.chunking.grammars import GRAMMARS, grammar_name, loaded
from operators.sources.formats.languages import code_language

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize("language", SAMPLES)
def test_definitions_have_their_qualified_name_and_lines_with_what_leads_them(
    language: str,
) -> None:
    text = SAMPLES[language]
    assert sorted(spans(parsed(text, language))) == marked(text)


@pytest.mark.parametrize("language", SAMPLES)
def test_a_cut_inside_a_definition_is_deeper_than_before_it(language: str) -> None:
    text = SAMPLES[language]
    depths = parsed(text, language).depths
    for first, last, _ in marked(text):
        assert min(depths[first + 1 : last + 1]) > depths[first]


def test_a_cut_between_a_comment_and_its_definition_is_deeper_than_inside_its_body() -> None:
    text = "# one\n# two\n@three\ndef f():\n    a\n    b\n"
    depths = parsed(text, "python").depths
    assert min(depths[1:4]) > max(depths[4:6])


def test_a_comment_apart_from_a_definition_is_no_part_of_it() -> None:
    found = parsed("# one\n\ndef f():\n    a\nx = 1  # two\ndef g():\n    b\n", "python")
    assert [definition.first for definition in found.definitions] == [2, 5]
    assert found.depths[5] == 0


def test_broken_code_is_cut_by_lines_and_the_code_around_it_by_syntax() -> None:
    broken = "    def m(self):\n        x = (1 +\n        y = ]]\n\n"
    text = f"def f():\n    a\n\nclass A:\n{broken}    def n(self):\n        a\n\ndef g():\n    b\n"
    found = parsed(text, "python")
    names = {definition.name: definition[:2] for definition in found.definitions}
    assert names.items() >= {"f": (0, 1), "A": (3, 9), "A.n": (8, 9), "g": (11, 12)}.items()
    assert "A.m" not in names
    assert set(found.depths[4:6]) == {1}  # inside the class, and no deeper


PIECES = sorted({line for text in SAMPLES.values() for line in text.split("\n")})
code = st.lists(st.sampled_from(PIECES) | st.text("(){}[]<>\"'`\\/*#:;=, aB1\t\r\0é€", max_size=20))


def real_python() -> Iterator[str]:
    for folder in ("operators", "dataflow", "tests", "benchmarks"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield file.read_text(encoding="utf-8")


def defined(tree: ast.Module) -> Iterator[tuple[str, int, int]]:
    """What Python's own parser finds: name, line of the first decorator or of itself, last line."""
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, qualifier = pending.pop()
        for child in ast.iter_child_nodes(node):
            name = qualifier
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{qualifier}.{child.name}".lstrip(".")
                first = min([child.lineno, *(d.lineno for d in child.decorator_list)])
                yield name, first - 1, (child.end_lineno or 0) - 1
            pending.append((child, name))


def test_definitions_in_real_python_are_those_that_python_finds() -> None:
    number = 0
    for text in islice(real_python(), 0, 400, 9):
        expected = sorted(defined(ast.parse(text)))
        found = parsed(text, "python")
        check(text, found)
        lines = text.split("\n")
        actual = []
        for first, last, name in spans(found):
            while lines[first].lstrip().startswith("#"):
                first += 1
            while not lines[last].partition("#")[0].strip():  # comments at the end of a body
                last -= 1
            actual.append((name, first, last))
        assert sorted(actual) == expected
        number += len(expected)
    assert number > 100


def test_names_used_in_real_python_are_those_that_python_finds() -> None:
    number = 0
    for text in islice(real_python(), 0, 400, 9):
        tree = list(ast.walk(ast.parse(text)))
        imported = {
            part
            for node in tree
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
            for part in (
                *alias.name.split("."),
                alias.asname,
                *(getattr(node, "module", None) or "").split("."),
            )
        }
        attributes = {node.attr for node in tree if isinstance(node, ast.Attribute)}
        read = {n.id for n in tree if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        written = {n.id for n in tree if isinstance(n, ast.Name)} - read
        written |= {node.arg for node in tree if isinstance(node, ast.arg | ast.keyword)}
        written |= {node.name for node in tree if isinstance(node, ast.ExceptHandler)}
        used = {name for _, name in parsed(text, "python").used or ()}
        words = {name for name in read if re.fullmatch("[a-z]+", name)}
        assert (read | attributes) - words <= used
        assert used <= read | attributes | imported | written
        number += len(used)
    assert number > 1_000


USES = [
    (
        "python",
        "@cached\ndef f(index):\n    # old_f\n    return 'new_f', f(index)\n",
        "cached f",
        "old_f new_f index",
    ),
    (
        "rust",
        'use a::b;\nfn f() -> Lock {\n  vec![1]; run::<u8>(); "No".go()\n}',
        "a b Lock vec run go",
        "f No",
    ),
    (
        "c",
        '#include "x.h"\nint f(struct lock *l) {\n  return g(l->count) + sizeof(foo_t);\n}',
        "lock g count foo_t",
        "f l x",
    ),
    ("sql", "SELECT a.id FROM orders a JOIN s.users b ON uid = 1;\n", "orders users", "a b uid"),
]


@pytest.mark.parametrize(("language", "text", "uses", "not_used"), USES)
def test_calls_types_imports_and_attributes_are_uses_and_comments_texts_and_heads_are_not(
    language: str, text: str, uses: str, not_used: str
) -> None:
    used = {name for _, name in parsed(text, language).used or ()}
    assert set(uses.split()) <= used
    assert all(map(is_listable, used)), "else a search for it reads the text"
    assert not used & set(not_used.split())


@pytest.mark.parametrize("language", ["toml", "yaml"])
def test_of_data_no_names_are_known_to_be_used(language: str) -> None:
    assert parsed(SAMPLES[language], language).used is None


@pytest.mark.parametrize(
    ("language", "text", "kinds"),
    [
        ("rust", "trait A {\n}\nstruct B {\n}\nmod c {\n}\n", ["trait", "struct", "mod"]),
        ("elixir", "defmodule A do\n  defp f(x) do\n    x\n  end\nend\n", ["defmodule", "defp"]),
        ("sql", "CREATE VIEW v AS\nSELECT 1;\n", ["view"]),
    ],
)
def test_a_definition_has_its_grammars_word_for_its_kind(
    language: str, text: str, kinds: list[str]
) -> None:
    assert [one.kind for one in parsed(text, language).definitions] == kinds


@pytest.mark.parametrize(
    ("language", "text", "line", "above"),
    [
        (
            "rust",
            "impl<T> Foo<T> {\n    pub fn bar(&self) -> u8 {\n        1\n    }\n}\n",
            2,
            ["impl<T> Foo<T>", "    pub fn bar(&self) -> u8"],
        ),
        ("c", "static int\nfoo(int a)\n{\n\treturn 1;\n}\n", 3, ["static int\nfoo(int a)"]),
        (
            "python",
            "# é\nclass A:\n    def é(self): return (1,\n       2)\n",
            3,
            ["class A:", "    def é(self):"],
        ),
    ],
)
def test_the_signatures_above_a_line_end_before_the_body(
    language: str, text: str, line: int, above: list[str]
) -> None:
    found = parsed(text, language).definitions
    assert signatures_above(found, text.splitlines(keepends=True), line) == above


LANGUAGES = [name for name in GRAMMARS if name != "tsx"]


def peak_memory() -> int:
    """Bytes that this process held at most; the parser's child is another."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("language", ["elixir", "swift"])
def test_a_long_line_is_parsed_or_given_up_in_time(language: str) -> None:
    began = time.perf_counter()
    found = breaks("f(a) = 1; " * (MAX_PARSED // 80), language)
    assert time.perf_counter() - began < 60  # against a hang: it takes a second
    assert isinstance(found, Breaks | Unparsed)


def test_what_is_not_known_or_too_large_has_no_breaks() -> None:
    assert breaks("IDENTIFICATION DIVISION.\n", "cobol") is None
    assert breaks("x\n", None, "notes.txt") is None
    large = breaks("x = 1\n" * (MAX_PARSED // 6 + 1), "python")
    assert large == Unparsed(f"it is larger than {MAX_PARSED} bytes")


def test_a_text_that_takes_the_parser_too_much_is_given_up_and_the_next_one_is_parsed() -> None:
    before = peak_memory()
    began = time.perf_counter()
    assert breaks("a < " * 20_000, "java") == Unparsed("the grammar of java gave up")
    assert time.perf_counter() - began < 60
    assert peak_memory() - before < 100 << 20
    assert spans(parsed("int f() {\n}\n", "c")) == [(0, 1, "f")]


@given(code.map("\n".join), st.sampled_from(LANGUAGES))
def test_any_mixture_of_code_has_sane_breaks_the_same_each_time(text: str, language: str) -> None:
    found = parsed(text, language)
    check(text, found)
    assert breaks(text, language) == found


@given(st.data(), st.sampled_from(list(SAMPLES)))
def test_code_torn_anywhere_has_sane_breaks(data: st.DataObject, language: str) -> None:
    text = SAMPLES[language]
    at = data.draw(st.integers(0, len(text)))
    to = data.draw(st.integers(at, len(text)))
    torn = text[:at] + data.draw(st.text(max_size=3)) + text[to:]
    tsx = language == "tsx"
    found = breaks(torn, "typescript" if tsx else language, "a.tsx" if tsx else None)
    if isinstance(found, Breaks):  # a grammar may crash on torn code; then it is cut by lines
        check(torn, found)


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


@pytest.mark.parametrize("name", GRAMMARS)
def test_every_grammar_loads_and_knows_the_nodes_that_define(name: str) -> None:
    language = loaded(name)
    for node_type in GRAMMARS[name].definitions.split():
        assert language.id_for_node_kind(node_type, True) is not None, node_type


@pytest.mark.parametrize(
    "path",
    ["a.tsx", "a.sh", "a.hpp", "a.tf", "a.mm", "a.yml"],
)
def test_the_language_that_a_path_tells_has_a_grammar(path: str) -> None:
    assert grammar_name(code_language(path), path, "") is not None


@pytest.mark.parametrize(
    ("language", "text", "name", "lines"),
    [
        ("haskell", "x <+> y =\n  x\n", "<+>", (0, 1)),
        ("hcl", 'module "m" {\n  a = 1\n}\n', "module.m", (0, 2)),
        ("toml", '[tool."x y"]\na = 1\n', "tool.x y", (0, 1)),
        ("yaml", '"/a/{b}":\n  c: 1\n', "/a/{b}", (0, 1)),
    ],
)
def test_a_definition_of_a_special_form_has_its_name(
    language: str, text: str, name: str, lines: tuple[int, int]
) -> None:
    assert spans(parsed(text, language)) == [(*lines, name)]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("elixir", "describe x do\n  use A\nend\n"),
        ("kotlin", "{\n  val a =\n    1\n}\n"),
        ("yaml", "a: |\n  b: 1\n  c: 2\n"),
    ],
)
def test_a_value_inside_of_other_code_is_no_definition(language: str, text: str) -> None:
    assert parsed(text, language).definitions == []


def test_code_before_broken_code_keeps_its_definitions() -> None:
    text = "class A {\n  fun g() {\n  }\n}\n\nfun f( {{ ]]\n\n"
    found = parsed(text, "kotlin")
    check(text, found)
    assert {definition.name for definition in found.definitions} >= {"A", "A.g"}


def test_a_header_that_reads_like_cpp_is_parsed_as_cpp() -> None:
    assert grammar_name("c", "a.h", "#pragma once\nnamespace a {\n}\n") == "cpp"
    assert grammar_name("c", "a.h", "struct a { int class_; };\n") == "c"
    assert grammar_name("c", "a.c", "class A {};\n") == "c"

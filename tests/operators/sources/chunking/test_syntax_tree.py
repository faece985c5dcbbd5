"""Where a syntax tree lets a text be cut, and what it defines."""

import ast
import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from code_samples import SAMPLES, check, marked, parsed, sample
from hypothesis import strategies as st

ROOT = Path(__file__).parents[4]


DATA = Path(os.environ.get("CROSSCORPUS_TEST_DATA", ROOT.parent / "shared" / "data"))


@pytest.mark.parametrize("language", SAMPLES)
def test_definitions_have_their_qualified_name_and_lines_with_what_leads_them(
    language: str,
) -> None:
    text = sample(language)
    assert sorted(parsed(text, language).definitions) == marked(text)


@pytest.mark.parametrize("language", SAMPLES)
def test_a_cut_inside_a_definition_is_deeper_than_before_it(language: str) -> None:
    text = sample(language)
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


def test_the_end_of_a_block_is_a_worse_place_than_between_its_statements() -> None:
    depths = parsed("int f(void) {\n  a();\n  b();\n}\n", "c").depths
    assert depths[3] > depths[2]


def test_broken_code_is_cut_by_lines_and_the_code_around_it_by_syntax() -> None:
    broken = "    def m(self):\n        x = (1 +\n        y = ]]\n\n"
    text = f"def f():\n    a\n\nclass A:\n{broken}    def n(self):\n        a\n\ndef g():\n    b\n"
    found = parsed(text, "python")
    names = {definition.name: definition[:2] for definition in found.definitions}
    assert names.items() >= {"f": (0, 1), "A": (3, 9), "A.n": (8, 9), "g": (11, 12)}.items()
    assert "A.m" not in names
    assert set(found.depths[4:6]) == {1}  # inside the class, and no deeper


def test_nothing_in_text_without_any_syntax_is_a_worse_place_than_another() -> None:
    found = parsed("]] ?? ((\n" * 9, "java")
    assert set(found.depths) == {0}
    assert found.definitions == []


PIECES = sorted({line for text in SAMPLES.values() for line in dedent(text).split("\n")})


code = st.lists(st.sampled_from(PIECES) | st.text("(){}[]<>\"'`\\/*#:;=, aB1\t\r\0é€", max_size=20))


def real_python() -> Iterator[str]:
    for folder in ("operators", "dataflow", "tests", "benchmarks"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            yield file.read_text(encoding="utf-8")


def real_documents(name: str, ending: str) -> Iterator[str]:
    file = DATA / name / "documents.jsonl.gz"
    if not file.exists():
        pytest.skip(f"the judged set {name} is not on this machine")
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        for document in map(json.loads, stream):
            if document["corpus"] == "code" and (document["path"] or ending).endswith(ending):
                yield document["text"]


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


@pytest.mark.parametrize("where", ["this project", "pytest", "cosqa"])
def test_definitions_in_real_python_are_those_that_python_finds(where: str) -> None:
    texts = real_python() if where == "this project" else real_documents(where, ".py")
    number = 0
    for text, _ in zip(texts, range(400), strict=False):
        try:
            expected = sorted(defined(ast.parse(text)))
        except (SyntaxError, ValueError):
            continue
        found = parsed(text, "python")
        check(text, found)
        lines = text.split("\n")
        actual = []
        for first, last, name in found.definitions:
            while lines[first].lstrip().startswith("#"):
                first += 1
            while not lines[last].partition("#")[0].strip():  # comments at the end of a body
                last -= 1
            actual.append((name, first, last))
        assert sorted(actual) == expected
        number += len(expected)
    assert number > 100


def test_definitions_in_real_c_end_with_their_closing_brace() -> None:
    number = 0
    for text in real_documents("secp", ".c"):
        found = parsed(text, "c")
        check(text, found)
        lines = text.split("\n")
        for definition in found.definitions:
            short = definition.name.rpartition(".")[2]
            assert any(short in line for line in lines[definition.first : definition.last + 1])
            if lines[definition.last].startswith("}"):
                number += 1
                assert found.depths[definition.last + 1] <= found.depths[definition.first]
    assert number > 100

import pytest

from operators.sources.chunking.grammars import GRAMMARS, grammar_name, loaded
from operators.sources.formats.languages import code_language


@pytest.mark.parametrize("name", GRAMMARS)
def test_every_grammar_loads_and_knows_the_nodes_that_define(name: str) -> None:
    language = loaded(name)
    assert language is not None
    for node_type in GRAMMARS[name].definitions.split():
        assert language.id_for_node_kind(node_type, True) is not None, node_type


def test_a_language_without_a_grammar_has_none() -> None:
    assert grammar_name("cobol", "a.cob", "") is None
    assert grammar_name(None, None, "") is None


@pytest.mark.parametrize("path", ["a.tsx", "a.ts", "a.py", "a.sh", "a.cs", "a.hpp", "a.sql"])
def test_the_language_that_a_path_tells_has_a_grammar(path: str) -> None:
    assert grammar_name(code_language(path), path, "") is not None


def test_a_header_that_reads_like_cpp_is_parsed_as_cpp() -> None:
    assert grammar_name("c", "a.h", "#pragma once\nnamespace a {\n}\n") == "cpp"
    assert grammar_name("c", "a.h", "struct a { int class_; };\n") == "c"
    assert grammar_name("c", "a.c", "class A {};\n") == "c"

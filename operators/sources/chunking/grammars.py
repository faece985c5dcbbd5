"""The languages whose syntax is known: their grammars, and the nodes that define a name.

Each grammar is its own wheel, so that nothing is downloaded at run time. If a grammar does not load
(no wheel for the platform), its language is cut by lines.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from posixpath import splitext
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Language


class Grammar(NamedTuple):
    """A language's grammar, and its nodes that are definitions."""

    module: str
    definitions: str  # the types of the nodes that are definitions
    separator: str = "."  # between the parts of a qualified name
    function: str = "language"  # of the module, gives the grammar
    clauses: bool = False  # neighbours of one name are one definition
    around: str = ""  # the types of the nodes around definitions, read also on one line


_C = "function_definition struct_specifier union_specifier enum_specifier type_definition"
_JAVASCRIPT = (
    "function_declaration generator_function_declaration class_declaration class"
    " method_definition variable_declarator"
)
_TYPESCRIPT = (
    f"{_JAVASCRIPT} abstract_class_declaration interface_declaration enum_declaration"
    " type_alias_declaration internal_module module public_field_definition"
)

GRAMMARS = {
    "python": Grammar("tree_sitter_python", "function_definition class_definition"),
    "javascript": Grammar("tree_sitter_javascript", f"{_JAVASCRIPT} field_definition"),
    "typescript": Grammar("tree_sitter_typescript", _TYPESCRIPT, function="language_typescript"),
    "tsx": Grammar("tree_sitter_typescript", _TYPESCRIPT, function="language_tsx"),
    "go": Grammar("tree_sitter_go", "function_declaration method_declaration type_spec"),
    "rust": Grammar(
        "tree_sitter_rust",
        "function_item struct_item enum_item union_item trait_item impl_item mod_item"
        " macro_definition",
        "::",
    ),
    "java": Grammar(
        "tree_sitter_java",
        "class_declaration interface_declaration enum_declaration record_declaration"
        " annotation_type_declaration method_declaration constructor_declaration"
        " compact_constructor_declaration",
    ),
    "c": Grammar("tree_sitter_c", f"{_C} preproc_function_def"),
    "cpp": Grammar(
        "tree_sitter_cpp",
        f"{_C} preproc_function_def class_specifier namespace_definition",
        "::",
    ),
    "csharp": Grammar(
        "tree_sitter_c_sharp",
        "namespace_declaration class_declaration struct_declaration interface_declaration"
        " enum_declaration record_declaration method_declaration constructor_declaration"
        " destructor_declaration property_declaration delegate_declaration"
        " local_function_statement",
    ),
    "ruby": Grammar("tree_sitter_ruby", "module class method singleton_method", "::"),
    "php": Grammar(
        "tree_sitter_php",
        "namespace_definition class_declaration interface_declaration trait_declaration"
        " enum_declaration function_definition method_declaration",
        "::",
        "language_php",
    ),
    "bash": Grammar("tree_sitter_bash", "function_definition"),
    "sql": Grammar(
        "tree_sitter_sql",
        "create_table create_view create_materialized_view create_function create_procedure"
        " create_trigger create_type create_index create_schema",
    ),
    "elixir": Grammar("tree_sitter_elixir", "call", clauses=True),
    "haskell": Grammar(
        "tree_sitter_haskell",
        "signature function bind data_type newtype class instance type_synonym type_family",
        clauses=True,
    ),
    "hcl": Grammar("tree_sitter_hcl", "block"),
    "kotlin": Grammar(
        "tree_sitter_kotlin",
        "class_declaration object_declaration companion_object function_declaration"
        " secondary_constructor property_declaration type_alias",
    ),
    "lua": Grammar(
        "tree_sitter_lua",
        "function_declaration assignment_statement field",
        around="variable_declaration",
    ),
    "objc": Grammar(
        "tree_sitter_objc",
        f"{_C} preproc_function_def class_interface class_implementation protocol_declaration"
        " method_declaration method_definition",
        around="implementation_definition",
    ),
    "perl": Grammar(
        "tree_sitter_perl",
        "package_statement class_statement role_statement subroutine_declaration_statement"
        " method_declaration_statement",
        "::",
    ),
    "scala": Grammar(
        "tree_sitter_scala",
        "package_clause package_object class_definition object_definition trait_definition"
        " enum_definition given_definition function_definition function_declaration"
        " type_definition val_definition var_definition",
    ),
    "swift": Grammar(
        "tree_sitter_swift",
        "class_declaration protocol_declaration function_declaration init_declaration"
        " deinit_declaration subscript_declaration protocol_function_declaration"
        " property_declaration typealias_declaration",
    ),
    "toml": Grammar("tree_sitter_toml", "table table_array_element"),
    "yaml": Grammar("tree_sitter_yaml", "block_mapping_pair"),
    "zig": Grammar("tree_sitter_zig", "function_declaration variable_declaration"),
}

_CPP_IN_A_HEADER = re.compile(
    r"^[ \t]*(?:namespace\b|template[ \t]*<|class[ \t]+\w|using[ \t]+\w|(?:public|private)[ \t]*:)",
    re.MULTILINE,
)

_OBJC_IN_A_HEADER = re.compile(r"^@(?:interface|protocol|class|import)\b", re.MULTILINE)


def grammar_name(language: str | None, path: str | None, text: str) -> str | None:
    """The key in ``GRAMMARS`` for a document of ``language`` at ``path``, or None.

    ``.tsx`` has a grammar of its own, and a ``.h`` file is C++ or Objective-C when it reads like
    that. A ``.lhs`` file is Haskell inside of prose, which no grammar reads.

    >>> grammar_name("c", "a.h", "int f();"), grammar_name("c", "a.h", "namespace n {}")
    ('c', 'cpp')
    """
    suffix = splitext(path or "")[1].lower()
    if language == "typescript" and suffix == ".tsx":
        return "tsx"
    if suffix == ".lhs":
        return None
    if language == "c" and suffix == ".h" and _OBJC_IN_A_HEADER.search(text):
        return "objc"
    if language == "c" and suffix == ".h" and _CPP_IN_A_HEADER.search(text):
        return "cpp"
    return language if language in GRAMMARS else None


@cache
def installed(name: str) -> bool:
    """Whether this environment has the grammar ``name`` of ``GRAMMARS``: the extra ``code``."""
    return all(find_spec(module) for module in ("tree_sitter", GRAMMARS[name].module))


@cache
def loaded(name: str) -> Language | None:
    """The grammar ``name`` of ``GRAMMARS``, or None if it does not load on this machine."""
    grammar = GRAMMARS[name]
    try:
        from tree_sitter import Language

        return Language(getattr(import_module(grammar.module), grammar.function)())
    except (ImportError, AttributeError, ValueError):  # no wheel, or an incompatible one
        return None
